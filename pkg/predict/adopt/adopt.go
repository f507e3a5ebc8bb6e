// Package adopt decides how a manager takes over fields that others hold, or that have no owner:
// what becomes of managed fields, and which fields then leave the object. It only computes; the
// caller writes.
package adopt

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// From lists the managers to take over from.
type From struct {
	// Once are managers whose fields are migrated: they are taken over only while the manager has
	// no Apply entry of its own. Later writes of theirs are foreign.
	Once []string
	// Always are managers that the user named for this run. They are taken over whenever they hold
	// something.
	Always []string
}

// Adoption describes how an object's managed fields change in a takeover.
type Adoption struct {
	// Adopted are the owners whose paths move into the manager's Apply entry.
	Adopted []managedfields.Owner
	// Left are owners that stay, because their paths are written at another version than the
	// manager's.
	Left []managedfields.Owner
	// Claimed are paths without an owner that the manager takes so that its next apply removes
	// them.
	Claimed []fieldpath.Path
	// Earlier are the managers whose fields were taken over by an earlier run that stopped before
	// it applied.
	Earlier []string

	// released is what the manager releases before it applies, so that it stays.
	released *fieldpath.Set

	adopter adopter
	// entries are those of the live object except the manager's own, which is ours.
	entries []managedfields.Entry
	ours    managedfields.Entry
	claimed *fieldpath.Set
	// kept is what adopted owners keep until the apply takes it.
	kept []managedfields.Entry
}

// Plan plans the takeover of what others hold on the main resource, by updates or by applying: all
// of it moves into the manager's Apply entry, so that what the manifest does not state leaves the
// object with the next apply (KEP-2155, k/k#99003; edge case 30). Without an entry of its own, the
// manager gets one at the newest version among theirs. The status is never taken over: the manifest
// would not state it.
//
// Adopting [managedfields.ClientSideApply] also adopts [managedfields.BeforeFirstApply], but only
// what the last-applied annotation states. The rest of that entry is not configuration: defaults,
// finalizers, allocated addresses. The API server makes the entry at the manager's own first apply,
// so it is adopted even if the manager has applied before. It is not adopted if it no longer holds
// the annotation: a later writer replaced it, and the annotation is that writer's.
//
// A migration that an earlier run began is continued, unless client-side apply has written since.
func Plan(live *unstructured.Unstructured, manager string, from From) (Adoption, error) {
	entries, err := managedfields.Entries(live)
	if err != nil {
		return Adoption{}, err
	}
	ours, exists := managedfields.AppliedBy(entries, manager)
	a := adopter{manager: manager, from: from.Always, named: from.Always, live: live.Object}
	marks := marksIn(ours.Fields)
	switch {
	case !exists:
		a.from = slices.Concat(from.Always, from.Once)
		ours = managedfields.Entry{Owner: managedfields.Owner{Manager: manager, Operation: managedfields.Apply}, Fields: fieldpath.NewSet()}
	case holdsLastAppliedOf(ours, live):
		a.from = slices.Concat(from.Always, marks.begun(from.Once))
	}
	a.untracked = slices.Contains(a.from, managedfields.ClientSideApply) ||
		slices.Contains(from.Once, managedfields.ClientSideApply) && holdsLastApplied(entries, managedfields.BeforeFirstApply)
	if !exists {
		ours.APIVersion = managedfields.Newest(entries, func(e managedfields.Entry) bool { return !a.adopts(e).Empty() })
	}
	result := Adoption{adopter: a, ours: ours, entries: managedfields.Others(entries, manager), Earlier: marks.names()}
	for _, e := range result.entries {
		switch {
		case a.adopts(e).Empty():
		case e.APIVersion != ours.APIVersion:
			result.Left = append(result.Left, e.Owner)
		default:
			result.Adopted = append(result.Adopted, e.Owner)
		}
	}
	slices.SortFunc(result.Adopted, managedfields.Owner.Compare)
	slices.SortFunc(result.Left, managedfields.Owner.Compare)
	return result, nil
}

// Needed reports whether there is anything to take over, or to release.
func (a Adoption) Needed() bool {
	return len(a.Adopted)+len(a.Claimed) > 0 || !a.Released().Empty()
}

// Release adds fields that the manager has to release before it applies: an apply that does not
// state them would remove them.
func (a Adoption) Release(set *fieldpath.Set) Adoption {
	a.released = set
	return a
}

// Released returns what the manager releases, never nil.
func (a Adoption) Released() *fieldpath.Set {
	if a.released == nil {
		return fieldpath.NewSet()
	}
	return a.released
}

// LetGo returns the managed fields of the server's answer to a dry run without what the adopted
// managers still hold there, and without what is released. The rest of the manager's fields is what
// the manifest states.
func (a Adoption) LetGo(answer *unstructured.Unstructured) ([]any, error) {
	entries, err := managedfields.Entries(answer)
	if err != nil {
		return nil, err
	}
	kept := make([]managedfields.Entry, 0, len(entries))
	for _, e := range entries {
		if slices.ContainsFunc(a.Adopted, e.Equal) {
			e.Fields = e.Fields.Difference(a.adopter.adopts(e))
		}
		if e.Is(a.adopter.manager) {
			e.Fields = e.Fields.Difference(a.Released())
		}
		if !e.Fields.Empty() {
			kept = append(kept, e)
		}
	}
	return managedfields.Encode(kept)
}

// holdsLastApplied reports whether an entry of a manager holds the last-applied annotation.
func holdsLastApplied(entries []managedfields.Entry, manager string) bool {
	return slices.ContainsFunc(entries, func(e managedfields.Entry) bool {
		return e.Manager == manager && fieldpath.Holds(e.Fields, managedfields.LastAppliedPath())
	})
}

// holdsLastAppliedOf reports whether an entry holds the object's last-applied annotation, or the
// object has none: then client-side apply has not written since.
func holdsLastAppliedOf(e managedfields.Entry, live *unstructured.Unstructured) bool {
	return managedfields.LastApplied(live.Object) == "" || fieldpath.Holds(e.Fields, managedfields.LastAppliedPath())
}

type adopter struct {
	manager string
	// from are the managers to take over from; named are those that the user named for this run.
	from, named []string
	// untracked: what the last-applied annotation states is taken over from before-first-apply.
	untracked bool
	live      map[string]any
}

// adopts returns the part of an entry that is to be taken over.
func (a adopter) adopts(e managedfields.Entry) *fieldpath.Set {
	none := fieldpath.NewSet()
	switch {
	case e.Subresource != "" || e.Is(a.manager):
		return none
	case e.Manager == managedfields.BeforeFirstApply && a.untracked:
		return a.stated(e.Fields)
	case !slices.Contains(a.from, e.Manager):
		return none
	}
	return e.Fields.RecursiveDifference(fieldpath.NewSet(fieldpath.Field("status")))
}

// stated returns the part of a set that the last-applied annotation states, with the annotation's
// own path.
func (a adopter) stated(set *fieldpath.Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	var last map[string]any
	if json.Unmarshal([]byte(managedfields.LastApplied(a.live)), &last) != nil {
		return out
	}
	fieldpath.Each(set, func(p fieldpath.Path) {
		if _, stated := p.Get(last); stated || managedfields.IsLastApplied(p) {
			fieldpath.Insert(out, p.Clone())
		}
	})
	return out
}

// migrates reports whether a manager's fields are taken over without being named by the user.
func (a adopter) migrates(manager string) bool {
	if manager == managedfields.BeforeFirstApply {
		manager = managedfields.ClientSideApply
	}
	return !slices.Contains(a.named, manager)
}

// Claim adds paths without an owner to an adoption, with everything that the live object has at
// them. Once the manager owns it, an apply that does not state it removes it.
//
// It claims nothing if the manager's entry is at another version than the live object.
func (a Adoption) Claim(live *unstructured.Unstructured, paths []fieldpath.Path) Adoption {
	claimed := fieldpath.NewSet()
	for _, p := range paths {
		if v, has := p.Get(live.Object); has {
			leaves(claimed, p, v)
		}
	}
	if claimed.Empty() {
		return a
	}
	if a.ours.APIVersion == "" {
		a.ours.APIVersion = live.GetAPIVersion()
	}
	if a.ours.APIVersion == live.GetAPIVersion() {
		a.Claimed, a.claimed = paths, claimed
	}
	return a
}

// ClaimedSet returns what is claimed, never nil.
func (a Adoption) ClaimedSet() *fieldpath.Set {
	if a.claimed == nil {
		return fieldpath.NewSet()
	}
	return a.claimed
}

// leaves adds the paths of a value's leaves to a set. A list is a leaf: without an owner, nothing
// shows how its items are identified.
func leaves(set *fieldpath.Set, p fieldpath.Path, v any) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		fieldpath.Insert(set, p)
		return
	}
	for name, v := range m {
		leaves(set, p.Child(fieldpath.Element{FieldName: &name}), v)
	}
}

// An unfinished takeover is marked by paths in the manager's own Apply entry, one for each manager
// that it took over from. No object has a field of such a name, so the API server ignores them, and
// drops them with the next apply, which does not state them.
const (
	adopting  = "k8sconnect.io/adopting/"
	migrating = "k8sconnect.io/migrating/" // once, without being named
)

// marks are names of managers, and whether taking over from them is a migration.
type marks map[string]bool

// marksIn reads the marks in a set, which may be nil.
func marksIn(set *fieldpath.Set) marks {
	out := marks{}
	if set == nil {
		return out
	}
	set.Members.Iterate(func(pe fieldpath.Element) {
		if pe.FieldName == nil {
			return
		}
		if name, ok := strings.CutPrefix(*pe.FieldName, adopting); ok {
			out.add(name, false)
		}
		if name, ok := strings.CutPrefix(*pe.FieldName, migrating); ok {
			out.add(name, true)
		}
	})
	return out
}

// add adds a manager. A migration in progress stays one: the user names a manager for one run only.
func (m marks) add(manager string, migrates bool) { m[manager] = m[manager] || migrates }

func (m marks) names() []string { return slices.Sorted(maps.Keys(m)) }

// begun returns those managers whose migration has begun.
func (m marks) begun(managers []string) []string {
	var out []string
	for _, name := range managers {
		if m[name] || name == managedfields.ClientSideApply && m[managedfields.BeforeFirstApply] {
			out = append(out, name)
		}
	}
	return out
}

func (m marks) set() *fieldpath.Set {
	set := fieldpath.NewSet()
	for name, migrates := range m {
		prefix := adopting
		if migrates {
			prefix = migrating
		}
		fieldpath.Insert(set, fieldpath.Field(prefix+name))
	}
	return set
}
