package predict

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Taken returns the paths that a forced apply takes from other owners, sorted by path. These are
// the conflicts that the server would report without force, and occasionally more. live is the
// object before the apply, answer is the server's response to the apply or to its dry run, and
// manifest is the sent object. For an object without managed fields, use [ConflictsFromStatus].
//
// There is a conflict if an owner lost a path, and the path or something below it is now ours.
// There is none if the path was removed. If an entry's API version differs from the response's, its
// conflicts keep the field names of the entry's version. An entry that vanishes because the server
// no longer serves its version is ignored (edge case 9).
func Taken(live, answer, manifest *unstructured.Unstructured, manager string) ([]managedfields.Conflict, error) {
	in := Prediction{Live: live}
	before, after, err := in.bothEntries(answer)
	if err != nil {
		return nil, err
	}
	return taken(live, answer, manifest, before, after, manager), nil
}

func taken(live, answer, manifest *unstructured.Unstructured, before, after []managedfields.Entry, manager string) []managedfields.Conflict {
	t := taking{
		live: live.Object, answer: answer.Object, manifest: manifest.Object,
		ours: managedfields.Managed(after, manager), version: answer.GetAPIVersion(),
	}
	others := managedfields.Others(before, manager)
	paths := fieldpath.NewSet()
	for _, e := range others {
		t.takenFrom(e, after, paths)
	}
	conflicts := t.conflicts(paths, others)
	if manager == "kubectl" {
		conflicts = withoutLastApplied(conflicts, live)
	}
	return conflicts
}

type taking struct {
	live, answer, manifest map[string]any
	ours                   *fieldpath.Set
	version                string
}

func (t *taking) takenFrom(e managedfields.Entry, after []managedfields.Entry, paths *fieldpath.Set) {
	kept, vanished := fieldpath.NewSet(), true
	for _, a := range after {
		if a.SameEntry(e.Owner) {
			kept, vanished = a.Fields, false
		}
	}
	lost := e.Fields.Difference(kept)
	if e.APIVersion != t.version {
		switch {
		case !vanished:
			fieldpath.Each(lost, func(p fieldpath.Path) { fieldpath.Insert(paths, p.Clone()) })
		case t.allChanged(lost):
			fieldpath.Each(lost, func(p fieldpath.Path) { fieldpath.Insert(paths, t.declared(p).Clone()) })
		}
		return
	}
	fieldpath.Each(lost, func(p fieldpath.Path) {
		if q := t.declared(p); q != nil && !fieldpath.Has(kept, q) {
			fieldpath.Insert(paths, q.Clone())
		}
	})
}

// declared returns our path that took the path p, or nil if the manifest did not take p. Our path is
// either p itself or the path of an atomic value that contains p, if the value became atomic after
// the owner's entry was written.
func (t *taking) declared(p fieldpath.Path) fieldpath.Path {
	set := t.ours
	for i, pe := range p {
		child, ok := fieldpath.Below(set, pe)
		if set.Members.Has(pe) && (i == len(p)-1 || !ok) {
			return p[:i+1]
		}
		if !ok { // An empty granular list leaves no trace in our set.
			v, _ := p.Get(t.manifest)
			if list, isList := v.([]any); isList && len(list) == 0 {
				return p
			}
			return nil
		}
		set = child
	}
	return p
}

func (t *taking) allChanged(set *fieldpath.Set) bool {
	all := true
	fieldpath.Each(set, func(p fieldpath.Path) {
		was, hasWas := p.Get(t.live)
		is, hasIs := p.Get(t.answer)
		all = all && t.declared(p) != nil && (hasWas != hasIs || !fieldpath.Equal(was, is))
	})
	return all
}

func (t *taking) conflicts(paths *fieldpath.Set, others []managedfields.Entry) []managedfields.Conflict {
	var out []managedfields.Conflict
	fieldpath.Each(paths, func(p fieldpath.Path) {
		c := managedfields.Conflict{Path: p.Clone()}
		c.Live, c.HasLive = allAt(t.live, c.Path)
		var declared bool
		if c.Yours, declared = c.Path.Get(t.manifest); !declared {
			c.Yours, _ = c.Path.Get(t.answer)
		}
		c.Owners = managedfields.HoldersOf(others, c.Path)
		out = append(out, c)
	})
	managedfields.SortConflicts(out)
	return out
}

// allAt returns the value at a path, or all list items with its key if there are several (k/k#113482).
func allAt(object map[string]any, p fieldpath.Path) (any, bool) {
	v, has := p.Get(object)
	last := p[len(p)-1:]
	if !has || last[0].Key == nil {
		return v, has
	}
	list, _ := p[:len(p)-1].Get(object)
	all, _ := list.([]any)
	same := slices.DeleteFunc(slices.Clone(all), func(item any) bool {
		_, is := last.GetIn([]any{item})
		return !is
	})
	if len(same) > 1 {
		return same, true
	}
	return v, true
}

// withoutLastApplied removes the conflicts at paths whose live value was last set by client-side
// apply. For the manager "kubectl", and no other, the API server ignores these conflicts.
func withoutLastApplied(conflicts []managedfields.Conflict, live *unstructured.Unstructured) []managedfields.Conflict {
	var last unstructured.Unstructured
	if json.Unmarshal([]byte(managedfields.LastApplied(live.Object)), &last.Object) != nil || last.GetAPIVersion() != live.GetAPIVersion() {
		return conflicts
	}
	return slices.DeleteFunc(conflicts, func(c managedfields.Conflict) bool {
		v, ok := c.Path.Get(last.Object)
		return ok && c.HasLive && fieldpath.Equal(v, c.Live)
	})
}

// TakenFrom returns the values of other managers that an apply overwrites, sorted by path. It
// includes the values of adopted managers, unless the manifest only spells them differently.
func (in *Prediction) TakenFrom(answer *unstructured.Unstructured) []managedfields.Conflict {
	all := slices.Clone(in.Taken)
	for _, c := range in.Overwritten {
		if in.Live == nil || answer == nil || !c.Path.Same(in.Live.Object, answer.Object) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b managedfields.Conflict) int { return a.Path.Compare(b.Path) })
	return all
}
