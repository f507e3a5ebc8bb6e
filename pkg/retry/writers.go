package retry

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type writer struct{ manager, operation, subresource, version string }

// writers counts the writes of every other manager. The times in managed fields are whole seconds,
// so several writes by a manager within one second count as one.
type writers struct {
	last  *unstructured.Unstructured
	wrote map[writer]int
}

// saw counts the writes since the previous version. It decodes nothing until it has two versions,
// because most objects have no other writer.
func (w *writers) saw(live *unstructured.Unstructured) {
	if w.last != nil && live != nil {
		if w.wrote == nil {
			w.wrote = map[writer]int{}
		}
		before := times(w.last)
		for who, now := range times(live) {
			if at, was := before[who]; !was || !at.Equal(now) {
				w.wrote[who]++
			}
		}
	}
	w.last = live
}

func times(u *unstructured.Unstructured) map[writer]time.Time {
	out := map[writer]time.Time{}
	for _, e := range u.GetManagedFields() {
		var at time.Time
		if e.Time != nil {
			at = e.Time.Time
		}
		out[writer{e.Manager, string(e.Operation), e.Subresource, e.APIVersion}] = at
	}
	return out
}

func (w *writers) names() []string {
	all := slices.SortedFunc(maps.Keys(w.wrote), func(a, b writer) int {
		return cmp.Or(cmp.Compare(w.wrote[b], w.wrote[a]), cmp.Compare(a.manager, b.manager), cmp.Compare(a.subresource, b.subresource))
	})
	var names []string
	for _, who := range all {
		name := who.manager
		if who.subresource != "" {
			name += " (" + who.subresource + ")"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
