// Package adopt decides how a manager takes over fields that others own or that have no owner. It
// computes the new managed fields, and the fields that the subsequent apply removes. Start with
// [Plan]. The package writes nothing.
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

// From lists the managers whose fields we take over.
type From struct {
	// Once lists the managers to migrate from. Their fields are adopted only while our manager has
	// no Apply entry. Fields that they write later are not adopted.
	Once []string
	// Always lists the managers that the user named for this run.
	Always []string
	// Granular reports whether the kind's schema declares that each field or item of the map or
	// list at a path has its own owners. It may be nil.
	Granular func(path fieldpath.Path) bool
	// Hollow reports whether the manifest contains the path, but an apply does not own it. It
	// may be nil.
	Hollow func(path fieldpath.Path) bool
	// Status adopts the status, too. It is for a manifest with a status: the kind has no subresource
	// for it, or the server ignores it.
	Status bool
}

// Adoption describes how an object's managed fields change.
type Adoption struct {
	Adopted []managedfields.Owner
	// Left lists the owners that are not adopted because their API version differs from ours.
	Left []managedfields.Owner
	// Claimed lists the paths without an owner that we take over, so that our next apply removes
	// them.
	Claimed []fieldpath.Path
	// Earlier lists the managers from which a previous, interrupted run adopted fields.
	Earlier []string

	released *fieldpath.Set
	// surplus contains the fields of others that become ours so that the apply removes them. direct
	// contains those that are removed before it, and directly their paths.
	surplus, direct []managedfields.Entry
	directly        []fieldpath.Path
	sent            *unstructured.Unstructured

	adopter adopter
	entries []managedfields.Entry
	ours    managedfields.Entry
	claimed *fieldpath.Set
	// kept contains the fields that adopted owners keep until the apply takes them.
	kept []managedfields.Entry
}

// Plan plans the adoption of the fields that others own on the main resource, by Update or by
// Apply. The fields that the manager set move into our Apply entry, so that the next apply removes
// those that the manifest lacks (KEP-2155, k/k#99003; edge case 30). Its other fields lose their
// owner and keep their values. If we have no entry yet, the new one gets the newest API version of
// the adopted entries. The status is adopted only with [From].Status.
//
// An entry created by Update also owns the defaults that the server set in the request, and even
// values that admission put in their place, because the server records the owners before admission
// (k/k#99003). So client-side apply set only the fields in its last-applied annotation. Other
// updaters set everything, except a map or list that was empty: if it is granular, the fields in it
// came later, from others.
//
// Adopting [managedfields.ClientSideApply] also adopts from [managedfields.BeforeFirstApply], but
// only the fields in the last-applied annotation. The other fields of that entry are not
// configuration: defaults, finalizers, allocated addresses. The API server creates the
// BeforeFirstApply entry at our own first apply. It is therefore adopted even if we have applied
// before, unless a later writer replaced the annotation.
//
// A migration that an earlier run began is continued unless client-side apply has written since.
func Plan(live *unstructured.Unstructured, manager string, from From) (Adoption, error) {
	entries, err := managedfields.Entries(live)
	if err != nil {
		return Adoption{}, err
	}
	return PlanFrom(live, entries, manager, from), nil
}

// PlanFrom is [Plan] with the decoded managed fields of the live object, which it does not modify.
func PlanFrom(live *unstructured.Unstructured, entries []managedfields.Entry, manager string, from From) Adoption {
	ours, exists := managedfields.AppliedBy(entries, manager)
	a := adopter{manager: manager, from: from.Always, named: from.Always, granular: from.Granular, hollow: from.Hollow, status: from.Status, live: live.Object}
	if json.Unmarshal([]byte(managedfields.LastApplied(live.Object)), &a.lastApplied) != nil {
		a.lastApplied = nil
	}
	marks := marksIn(ours.Fields)
	switch {
	case !exists:
		a.from = slices.Concat(from.Always, from.Once)
		ours = managedfields.Entry{Owner: managedfields.Owner{Manager: manager, Operation: managedfields.Apply}, Fields: fieldpath.NewSet()}
	case managedfields.LastApplied(live.Object) == "" || fieldpath.Holds(ours.Fields, managedfields.LastAppliedPath()):
		// Client-side apply has not written since our last apply.
		a.from = slices.Concat(from.Always, marks.begun(from.Once))
	}
	a.untracked = slices.Contains(a.from, managedfields.ClientSideApply) ||
		slices.Contains(from.Once, managedfields.ClientSideApply) && slices.ContainsFunc(entries, func(e managedfields.Entry) bool {
			return e.Manager == managedfields.BeforeFirstApply && fieldpath.Holds(e.Fields, managedfields.LastAppliedPath())
		})
	if !exists {
		ours.APIVersion = managedfields.Newest(entries, func(e managedfields.Entry) bool { return !a.adopts(e).Empty() })
	}
	result := Adoption{adopter: a, ours: ours, entries: managedfields.Others(entries, manager), Earlier: slices.Sorted(maps.Keys(marks))}
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
	return result
}

// Manager returns our field manager; "" if the object does not exist.
func (a Adoption) Manager() string { return a.adopter.manager }

// Needed reports whether there is anything to adopt, claim, release or remove.
func (a Adoption) Needed() bool {
	return len(a.Adopted)+len(a.Claimed)+len(a.surplus)+len(a.direct) > 0 || !a.Released().Empty()
}

// Release returns the adoption extended by fields that we stop owning before the apply, because the
// apply would otherwise remove them.
func (a Adoption) Release(set *fieldpath.Set) Adoption {
	a.released = set
	return a
}

// Released returns the fields to release before the apply. It never returns nil.
func (a Adoption) Released() *fieldpath.Set {
	if a.released == nil {
		return fieldpath.NewSet()
	}
	return a.released
}

// LetGo returns the managed fields in the response to a dry run, without the fields that the apply
// takes from adopted managers and without the released fields. The dry run itself leaves both in
// place.
func (a Adoption) LetGo(answer *unstructured.Unstructured) ([]any, error) {
	entries, err := managedfields.Entries(answer)
	if err != nil {
		return nil, err
	}
	kept := make([]managedfields.Entry, 0, len(entries))
	for _, e := range entries {
		if slices.ContainsFunc(a.Adopted, e.Equal) {
			e.Fields = e.Fields.Difference(a.adopter.ends(e))
		}
		e.Fields = e.Fields.Difference(a.lostToSurplus(e.Owner))
		if e.Is(a.adopter.manager) {
			e.Fields = e.Fields.Difference(a.Released())
		}
		if !e.Fields.Empty() {
			kept = append(kept, e)
		}
	}
	return managedfields.Encode(kept)
}

type adopter struct {
	manager     string
	from, named []string
	// untracked means that the fields in the last-applied annotation are adopted from the manager
	// before-first-apply.
	untracked bool
	granular  func(path fieldpath.Path) bool
	hollow    func(path fieldpath.Path) bool
	status    bool
	live      map[string]any
	// lastApplied is the content of the last-applied annotation; nil if there is none.
	lastApplied map[string]any
	// defaults contains fields that keep their values without an owner; see [Adoption.SpareDefaults].
	defaults *fieldpath.Set
}

// adopts returns the fields of an entry that move into ours.
func (a adopter) adopts(e managedfields.Entry) *fieldpath.Set {
	ends := a.ends(e)
	ends = ends.Difference(a.hollowIn(ends))
	switch {
	case ends.Empty() || e.Operation != managedfields.Update || e.Manager == managedfields.BeforeFirstApply:
		return ends
	case e.Manager == managedfields.ClientSideApply && a.lastApplied != nil:
		return a.declared(ends)
	default:
		ends = ends.Difference(a.filledLater(ends))
		if a.defaults != nil {
			ends = ends.Difference(a.defaults)
		}
		return ends
	}
}

// ends returns the fields that an entry no longer owns after the adoption.
func (a adopter) ends(e managedfields.Entry) *fieldpath.Set {
	none := fieldpath.NewSet()
	switch {
	case e.Subresource != "" || e.Is(a.manager):
		return none
	case e.Manager == managedfields.BeforeFirstApply && a.untracked:
		return a.declared(e.Fields)
	case !slices.Contains(a.from, e.Manager):
		return none
	case a.status:
		return e.Fields
	}
	return e.Fields.RecursiveDifference(fieldpath.NewSet(fieldpath.Field("status")))
}

// declared returns the fields of the set that the last-applied annotation contains, and the
// annotation itself.
func (a adopter) declared(set *fieldpath.Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	fieldpath.Each(set, func(p fieldpath.Path) {
		if a.isDeclared(p) || managedfields.IsLastApplied(p) {
			fieldpath.Insert(out, p.Clone())
		}
	})
	return out
}

func (a adopter) isDeclared(p fieldpath.Path) bool {
	if v, declared := p.Get(a.lastApplied); declared || a.lastApplied == nil {
		return v != nil // null asks for the default.
	}
	// The server stores the stringData of a Secret as data.
	data := fieldpath.Field("data")
	if a.lastApplied["kind"] != "Secret" || a.lastApplied["apiVersion"] != "v1" || !p.HasPrefix(data) {
		return false
	}
	_, declared := append(fieldpath.Field("stringData"), p[1:]...).Get(a.lastApplied)
	return declared
}

// hollowIn returns the fields of the set that the manifest contains but an apply does not own. If
// we owned them before it, the apply would remove them.
func (a adopter) hollowIn(set *fieldpath.Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	if a.hollow == nil {
		return out
	}
	fieldpath.Each(set, func(p fieldpath.Path) {
		if a.hollow(p) {
			fieldpath.Insert(out, p.Clone())
		}
	})
	return out
}

// filledLater returns the granular maps and lists that the set contains without anything in them,
// although they are not empty in the live object.
func (a adopter) filledLater(set *fieldpath.Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	if a.granular == nil {
		return out
	}
	fieldpath.Each(set.Leaves(), func(p fieldpath.Path) {
		if value, _ := p.Get(a.live); fieldpath.IsFilled(value) && p[len(p)-1].FieldName != nil && a.granular(p) {
			fieldpath.Insert(out, p.Clone())
		}
	})
	return out
}

func (a adopter) migrates(manager string) bool {
	if manager == managedfields.BeforeFirstApply {
		manager = managedfields.ClientSideApply
	}
	return !slices.Contains(a.named, manager)
}

// Claim makes us the owner of the given paths, which have no owner, and of everything below them.
// The next apply then removes the claimed paths that the manifest lacks. Claim does nothing if the
// API version of our entry differs from that of the live object.
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

// ClaimedSet is never nil.
func (a Adoption) ClaimedSet() *fieldpath.Set {
	if a.claimed == nil {
		return fieldpath.NewSet()
	}
	return a.claimed
}

// leaves adds the leaves of a value to the set. Without an owner, the keys of a list's items are
// unknown, so a list counts as one leaf.
func leaves(set *fieldpath.Set, p fieldpath.Path, v any) {
	m, ok := v.(map[string]any)
	if len(p) > 0 && p[len(p)-1].FieldName == nil { // An item of a list has an owner of its own.
		fieldpath.Insert(set, p)
	}
	if !ok || len(m) == 0 {
		fieldpath.Insert(set, p)
		return
	}
	for name, v := range m {
		leaves(set, p.Child(fieldpath.Element{FieldName: &name}), v)
	}
}

// Special paths in our Apply entry mark an unfinished adoption. Each path is one of these prefixes
// followed by the name of an adopted manager. No object has such fields, so the API server ignores
// them and drops them at the next apply.
const (
	adopting  = "k8sconnect.io/adopting/"
	migrating = "k8sconnect.io/migrating/" // The user did not name the manager.
)

// marks maps each adopted manager to true if its adoption is a migration.
type marks map[string]bool

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

// A migration remains a migration even if the user names its manager for one run.
func (m marks) add(manager string, migrates bool) { m[manager] = m[manager] || migrates }

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
