package predict

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Taken returns what a forced apply takes from others, sorted by path: the paths for which the same
// apply without force would report a conflict, and occasionally one for which it would not. live is
// the object before the apply, answer the server's answer (a dry run will do), manifest what was
// applied.
//
// A set loses a path in two ways. Either the manifest changed its value: then the path, or
// something below it, is now ours. Or it left the object, which is no conflict. Paths of entries at
// another version than the answer's keep that version's names. An object without entries has no
// result (see [ConflictsFromStatus]). An entry that vanished as a whole with its version is not
// reported: the server forgets entries of versions that it no longer serves (edge case 9).
func Taken(live, answer, manifest *unstructured.Unstructured, manager string) ([]managedfields.Conflict, error) {
	before, err := managedfields.Entries(live)
	if err != nil {
		return nil, fmt.Errorf("live object: %w", err)
	}
	after, err := managedfields.Entries(answer)
	if err != nil {
		return nil, fmt.Errorf("the server's answer: %w", err)
	}
	t := taking{
		live: live.Object, answer: answer.Object, manifest: manifest.Object,
		ours: managedfields.Managed(after, manager), version: answer.GetAPIVersion(),
	}
	others := managedfields.Others(before, manager)
	paths := fieldpath.NewSet()
	for _, e := range managedfields.Others(before, manager) {
		t.from(e, after, paths)
	}
	conflicts := t.conflicts(paths, others)
	if manager == "kubectl" {
		conflicts = withoutLastApplied(conflicts, live)
	}
	return conflicts, nil
}

type taking struct {
	live, answer, manifest map[string]any
	// ours is what the manager holds after the apply.
	ours    *fieldpath.Set
	version string
}

// from adds the paths that were taken from one entry.
func (t *taking) from(e managedfields.Entry, after []managedfields.Entry, paths *fieldpath.Set) {
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
			fieldpath.Each(lost, func(p fieldpath.Path) { fieldpath.Insert(paths, t.stated(p).Clone()) })
		}
		return
	}
	fieldpath.Each(lost, func(p fieldpath.Path) {
		if q := t.stated(p); q != nil && !fieldpath.Has(kept, q) {
			fieldpath.Insert(paths, q.Clone())
		}
	})
}

// stated returns the path at which the manifest states a path that an owner lost, or nil. That is
// the path itself, perhaps as a parent of what we state, or the atomic value around it, if the
// entry dates from before the value became atomic.
func (t *taking) stated(p fieldpath.Path) fieldpath.Path {
	set := t.ours
	for i, pe := range p {
		child, ok := fieldpath.Below(set, pe)
		if set.Members.Has(pe) && (i == len(p)-1 || !ok) {
			return p[:i+1]
		}
		if !ok {
			return t.statedEmpty(p)
		}
		set = child
	}
	return p
}

// statedEmpty returns the path if the manifest has an empty list there, which leaves no trace in
// our set if the list is owned by item.
func (t *taking) statedEmpty(p fieldpath.Path) fieldpath.Path {
	if v, ok := p.Get(t.manifest); ok {
		if list, isList := v.([]any); isList && len(list) == 0 {
			return p
		}
	}
	return nil
}

// allChanged reports whether each path is one that we state now, or in a value that we state as a
// whole, with another value than before.
func (t *taking) allChanged(set *fieldpath.Set) bool {
	all := true
	fieldpath.Each(set, func(p fieldpath.Path) {
		was, hasWas := p.Get(t.live)
		is, hasIs := p.Get(t.answer)
		all = all && t.stated(p) != nil && (hasWas != hasIs || !fieldpath.Equal(was, is))
	})
	return all
}

func (t *taking) conflicts(paths *fieldpath.Set, others []managedfields.Entry) []managedfields.Conflict {
	var out []managedfields.Conflict
	fieldpath.Each(paths, func(p fieldpath.Path) {
		c := managedfields.Conflict{Path: p.Clone()}
		c.Live, c.HasLive = c.Path.Get(t.live)
		var stated bool
		if c.Yours, stated = c.Path.Get(t.manifest); !stated {
			c.Yours, _ = c.Path.Get(t.answer)
		}
		c.Owners = managedfields.HoldersOf(others, c.Path)
		out = append(out, c)
	})
	managedfields.SortConflicts(out)
	return out
}

// withoutLastApplied removes the conflicts that the API server ignores for the manager "kubectl"
// alone: paths whose live value client-side apply set last.
func withoutLastApplied(conflicts []managedfields.Conflict, live *unstructured.Unstructured) []managedfields.Conflict {
	var last unstructured.Unstructured
	if json.Unmarshal([]byte(managedfields.LastApplied(live.Object)), &last.Object) != nil || last.GetAPIVersion() != live.GetAPIVersion() {
		return conflicts
	}
	out := conflicts[:0]
	for _, c := range conflicts {
		if v, ok := c.Path.Get(last.Object); !ok || !c.HasLive || !fieldpath.Equal(v, c.Live) {
			out = append(out, c)
		}
	}
	return out
}

// TakenFrom returns the values of others that an apply overwrites, sorted by path: those that the
// user takes, and those of adopted managers. It returns both values, without guessing whether a
// manager's value came from an older version of this manifest. A value of an adopted manager that
// the manifest only spells differently, such as a quantity, is not overwritten.
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
