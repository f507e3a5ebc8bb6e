package restore

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// world is an object at three points in time: before a run, after the run, and now.
type world struct {
	before, after, live version
	known               bool
	// touched contains the paths that others have taken or that we have lost since the run.
	touched *fieldpath.Set
	// lost contains the managed fields that the run took from others.
	lost []managedfields.Entry
}

type version struct {
	object map[string]any
	// ours contains the fields that the manager owns from applying the object. entry is the
	// manager's Apply entry.
	ours      *fieldpath.Set
	entry     managedfields.Entry
	others    []managedfields.Entry
	unmanaged bool
}

func versionOf(u *unstructured.Unstructured, manager string) (version, error) {
	entries, err := managedfields.Entries(u)
	if err != nil {
		return version{}, err
	}
	entry, _ := managedfields.AppliedBy(entries, manager)
	return version{
		object: u.Object, ours: managedfields.Managed(entries, manager), entry: entry,
		others: managedfields.Others(entries, manager), unmanaged: len(entries) == 0,
	}, nil
}

func (n Note) compare(live *unstructured.Unstructured, manager string) (*world, error) {
	w := &world{known: n.After != nil, touched: fieldpath.NewSet()}
	var err error
	if w.before, err = versionOf(n.Before, manager); err != nil {
		return nil, fmt.Errorf("before the run: %w", err)
	}
	if w.live, err = versionOf(live, manager); err != nil {
		return nil, err
	}
	w.after = w.live
	since := w.before
	if w.known {
		if w.after, err = versionOf(n.After, manager); err != nil {
			return nil, fmt.Errorf("after the run: %w", err)
		}
		since = w.after
	}
	for _, e := range w.live.others {
		w.touched = w.touched.Union(e.Fields.Difference(since.holdings(e.Owner)))
	}
	w.touched = w.touched.Union(w.after.ours.Difference(w.live.ours))
	for _, e := range w.before.others {
		if e.Fields = e.Fields.Difference(w.after.holdings(e.Owner)); !e.Fields.Empty() {
			w.lost = append(w.lost, e)
		}
	}
	return w, nil
}

func (v version) holdings(owner managedfields.Owner) *fieldpath.Set {
	for _, e := range v.others {
		if e.SameEntry(owner) {
			return e.Fields
		}
	}
	return fieldpath.NewSet()
}

// changed returns the paths that had a value before the run, if the run took them from others or
// they had no owner. The rollback must send these paths: the server removes fields that only we own
// and do not send.
func (w *world) changed() *fieldpath.Set {
	candidates := w.after.ours.Difference(w.before.ours)
	for _, e := range w.lost {
		candidates = candidates.Union(e.Fields)
	}
	if w.before.unmanaged {
		candidates = candidates.Union(w.before.gone(w.after))
	}
	out := fieldpath.NewSet()
	fieldpath.Each(candidates, func(p fieldpath.Path) {
		if _, was := p.Get(w.before.object); was {
			fieldpath.Insert(out, p.Clone())
		}
	})
	return out
}

// gone returns the fields that a later version lacks, without the status.
func (v version) gone(later version) *fieldpath.Set {
	out := fieldpath.NewSet()
	all := managedfields.Unrecorded(&unstructured.Unstructured{Object: v.object}).Fields
	fieldpath.Each(all.RecursiveDifference(fieldpath.NewSet(fieldpath.Field("status"))), func(p fieldpath.Path) {
		if _, stays := p.Get(later.object); !stays {
			fieldpath.Insert(out, p.Clone())
		}
	})
	return out
}

// held returns the paths of a set for which the callback (theirs) returns false. If it omits all
// paths in a map or list, it omits the map or list too, because sending it would set everything in
// it.
func (w *world) held(set *fieldpath.Set, theirs func(p fieldpath.Path, whole bool) bool) *fieldpath.Set {
	out := fieldpath.NewSet()
	var inner []fieldpath.Path
	fieldpath.Each(set, func(p fieldpath.Path) {
		below := hasBelow(set, p)
		switch {
		case theirs(p, !below):
		case below:
			inner = append(inner, p.Clone())
		default:
			fieldpath.Insert(out, p.Clone())
		}
	})
	for _, p := range inner {
		if hasBelow(out, p) {
			fieldpath.Insert(out, p)
		}
	}
	return out
}

// around returns the containers that we own, that contain fields owned by others, and that are
// missing from values. Releasing such a container would remove those fields.
func (w *world) around(values *fieldpath.Set) []fieldpath.Path {
	var out []fieldpath.Path
	fieldpath.Each(w.live.ours, func(p fieldpath.Path) {
		if fieldpath.Holds(values, p) {
			return
		}
		if slices.ContainsFunc(w.live.others, func(e managedfields.Entry) bool { return hasBelow(e.Fields, p) }) {
			out = append(out, p.Clone())
		}
	})
	return out
}

func hasBelow(set *fieldpath.Set, p fieldpath.Path) bool {
	for _, pe := range p {
		child, below := fieldpath.Below(set, pe)
		if !below {
			return false
		}
		set = child
	}
	return true
}

// theirs reports whether others have changed a path since the run. If whole is set, changes below
// the path count, too.
func (w *world) theirs(p fieldpath.Path, whole bool) bool {
	switch {
	case fieldpath.Has(w.touched, p), w.wentAbove(p):
		return true
	case !whole:
		return false
	default:
		return hasBelow(w.touched, p) || w.known && !p.Same(w.after.object, w.live.object)
	}
}

// unstatable reports whether a value cannot be sent: others have changed it (see theirs), or whole
// is set and others own the path with a different value, so our value would cause a conflict.
func (w *world) unstatable(p fieldpath.Path, whole bool) bool {
	return w.theirs(p, whole) ||
		whole && len(managedfields.HoldersOf(w.live.others, p)) > 0 && !p.Same(w.before.object, w.live.object)
}

// wentAbove reports whether, since the run, a parent of the path has been removed or the type of a
// parent has changed.
func (w *world) wentAbove(p fieldpath.Path) bool {
	for i := 1; i < len(p); i++ {
		above := p[:i]
		was, _ := above.Get(w.after.object)
		is, there := above.Get(w.live.object)
		first, _ := above.Get(w.before.object)
		switch {
		case !there && above[i-1].FieldName != nil && !w.isHeld(above) && !w.isClaimed(above):
			return false // The parent was removed because it was empty.
		case shapeOf(was) != shapeOf(is):
			return true
		case shapeOf(first) != shapeOf(is) && w.isClaimed(above):
			return true
		case is == nil:
			return false
		}
	}
	return false
}

func (w *world) isHeld(p fieldpath.Path) bool {
	return fieldpath.Has(w.after.ours, p) ||
		slices.ContainsFunc(w.after.others, func(e managedfields.Entry) bool { return fieldpath.Has(e.Fields, p) })
}

// isClaimed reports whether others now own the path. They may own a path without a value, because
// storage drops null but keeps the owner.
func (w *world) isClaimed(p fieldpath.Path) bool {
	return len(managedfields.HoldersOf(w.live.others, p)) > 0
}

func shapeOf(v any) string {
	switch v.(type) {
	case nil:
		return "none"
	case map[string]any:
		return "map"
	case []any:
		return "list"
	default:
		return "value"
	}
}

// stateEmpty adds an empty map, list or list item at the path, if the live object has one there.
func stateEmpty(to any, p fieldpath.Path, live any) any {
	if len(p) == 0 {
		switch {
		case to != nil:
			return to
		case shapeOf(live) == "map":
			return map[string]any{}
		case shapeOf(live) == "list":
			return []any{}
		default:
			return live
		}
	}
	pe := p[0]
	if pe.FieldName != nil {
		m, _ := to.(map[string]any)
		if m == nil {
			m = map[string]any{}
		}
		below, _ := live.(map[string]any)
		m[*pe.FieldName] = stateEmpty(m[*pe.FieldName], p[1:], below[*pe.FieldName])
		return m
	}
	list, _ := to.([]any)
	from, _ := live.([]any)
	at := fieldpath.Find(from, pe)
	i := fieldpath.Find(list, pe)
	switch {
	case at < 0:
		return to
	case i < 0 && pe.Key != nil:
		list, i = append(list, fieldpath.KeyOf(pe)), len(list)
	case i < 0:
		list, i = append(list, from[at]), len(list)
	}
	list[i] = stateEmpty(list[i], p[1:], from[at])
	return list
}
