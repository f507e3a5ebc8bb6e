package fights

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

func (t *Tally) judge(w *watched) (event.Fight, bool) {
	f := event.Fight{Ref: w.ref, UID: w.now.UID, Class: event.SeveralOwners, Writes: w.writes}
	f.Paths = w.handed()
	f.Paths = inner(append(f.Paths, w.alternating(f.Paths)...))
	owners := map[string]bool{}
	for _, p := range f.Paths {
		for _, o := range p.Writers {
			owners[nameOf(o)] = true
		}
	}
	switch {
	case len(f.Paths) == 0 && w.unchanged():
		f.Class, f.Writers = event.NoChange, writersOf(w.log)
	case len(f.Paths) == 0:
		return f, false
	case len(owners) == 1:
		f.Class = event.OneWriter
	default:
		f.Next = w.give(f.Paths)
	}
	return f, true
}

// handed returns the paths that changed owners and changed back. A path that had no owner at some
// point counts only if it was set or removed a second time, because setting a path once and
// removing it once is not a fight.
func (w *watched) handed() []event.FoughtPath {
	type story struct {
		path  fieldpath.Path
		hands []hand
		by    []*managedfields.Owner
	}
	stories := map[string]*story{}
	var order []string
	for i := range w.log {
		for _, m := range w.log[i].moves {
			key := m.path.String()
			s := stories[key]
			if s == nil {
				s = &story{path: m.path, hands: []hand{m.from}}
				stories[key] = s
				order = append(order, key)
			}
			by := w.log[i].writer
			if m.to != (hand{}) {
				by = m.to.owner()
			}
			if s.hands[len(s.hands)-1] != m.to {
				s.hands, s.by = append(s.hands, m.to), append(s.by, by)
			}
		}
	}
	var out []event.FoughtPath
	for _, key := range order {
		s := stories[key]
		if s.hands[0] == (hand{}) && !slices.Contains(s.hands[1:], hand{}) {
			s.hands = s.hands[1:] // It was new.
		}
		least := 2
		if slices.Contains(s.hands, hand{}) {
			least = 3
		} else {
			s.by = append(s.by, s.hands[0].owner())
		}
		values := w.values(s.path)
		if len(s.hands) <= least || !returns(s.hands) || least == 3 && len(values) > 2 && !returns(textsOf(values)) {
			continue
		}
		writers := distinctOwners(s.by)
		out = append(out, event.FoughtPath{Path: s.path, Values: w.shown(s.path, values, writers), Writers: writers, Turns: w.turns(s.path)})
	}
	return out
}

// alternating returns the paths whose values change back and forth, except paths that are already
// in the given list (handed). It also omits a path that is repeatedly set and removed: such a path
// changes owners, so it is already in that list.
func (w *watched) alternating(handed []event.FoughtPath) []event.FoughtPath {
	by, paths := map[string][]*managedfields.Owner{}, map[string]fieldpath.Path{}
	for i := range w.log {
		for _, s := range w.log[i].steps {
			key := s.path.String()
			paths[key] = s.path
			by[key] = append(by[key], s.by)
		}
	}
	var out []event.FoughtPath
	for _, key := range slices.Sorted(maps.Keys(paths)) {
		values := w.values(paths[key])
		if values[0] == nil { // It was new.
			values = values[1:]
		}
		known := slices.ContainsFunc(handed, func(p event.FoughtPath) bool { return p.Path.Equal(paths[key]) })
		if known || len(values) < 3 || slices.Contains(values, nil) || !returns(textsOf(values)) || slices.ContainsFunc(by[key], w.follows) {
			continue
		}
		writers := distinctOwners(by[key])
		out = append(out, event.FoughtPath{Path: paths[key], Values: w.shown(paths[key], values, writers), Writers: writers, Turns: w.turns(paths[key])})
	}
	return out
}

// follows reports whether a writer only reacts to changes elsewhere. For example, an autoscaler
// reacts to load, and a Kubernetes controller reacts to the object's owner.
func (w *watched) follows(by *managedfields.Owner) bool {
	return by != nil && (by.Subresource == "scale" || by.Manager == "kube-controller-manager" && metav1.GetControllerOf(w.now) != nil)
}

func (w *watched) values(p fieldpath.Path) []*any {
	var out []*any
	for i := range w.log {
		for _, s := range w.log[i].steps {
			switch {
			case !s.path.Equal(p):
			case out == nil:
				out = []*any{s.from, s.to}
			default:
				out = append(out, s.to)
			}
		}
	}
	return out
}

// returns reports whether a sequence goes back and forth: at least every other change must lead
// back to an earlier state. A counter or clock never returns to an earlier state.
func returns[T comparable](states []T) bool {
	distinct := map[T]bool{}
	for _, s := range states {
		distinct[s] = true
	}
	return len(distinct) <= 1+(len(states)-1)/2
}

func textsOf(values []*any) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = textOf(v)
	}
	return texts
}

func textOf(v *any) string {
	if v == nil {
		return ""
	}
	text, err := json.Marshal(*v)
	if err != nil {
		return "?"
	}
	return string(text)
}

// shown returns the last value of each writer if there are several, or the last two values of a
// single writer. It returns none for a Secret, or if the writer of a value is unknown.
func (w *watched) shown(path fieldpath.Path, values []*any, writers []*managedfields.Owner) []*any {
	// The text of the last-applied annotation was replaced with a digest, which is not worth
	// showing.
	if len(values) < 2 || redact.IsSecret(w.ref) || managedfields.IsLastApplied(path) {
		return nil
	}
	if len(writers) > 1 {
		return w.valuesBy(path, writers)
	}
	last := values[len(values)-2:]
	if textOf(last[0]) > textOf(last[1]) {
		return []*any{last[1], last[0]}
	}
	return last
}

// valuesBy returns the last value of each writer, or nil if any of these values is unknown.
func (w *watched) valuesBy(path fieldpath.Path, writers []*managedfields.Owner) []*any {
	wrote := map[string]*any{}
	for i := range w.log {
		for _, s := range w.log[i].steps {
			if s.path.Equal(path) {
				by := s.by
				if by != nil {
					by = handOf(*by).owner()
				}
				wrote[nameOf(by)] = s.to
			}
		}
	}
	values := make([]*any, len(writers))
	for i, o := range writers {
		value, known := wrote[nameOf(o)]
		if !known {
			return nil
		}
		values[i] = value
	}
	return values
}

func (w *watched) unchanged() bool {
	n := 0
	for i := range w.log {
		if one := &w.log[i]; one.read && !one.unseen && len(one.moves)+len(one.steps) == 0 {
			n++
		}
	}
	return n >= 2
}

func writersOf(log []write) []*managedfields.Owner {
	var all []*managedfields.Owner
	for i := range log {
		all = append(all, log[i].writer)
	}
	return distinctOwners(all)
}

// distinctOwners returns each owner once, without time and version, sorted. The unknown owner comes
// last.
func distinctOwners(all []*managedfields.Owner) []*managedfields.Owner {
	var out []*managedfields.Owner
	for _, o := range all {
		if o != nil {
			o = handOf(*o).owner()
		}
		if !slices.ContainsFunc(out, func(have *managedfields.Owner) bool { return nameOf(have) == nameOf(o) }) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *managedfields.Owner) int {
		switch { // At most one is unknown.
		case a == nil:
			return 1
		case b == nil:
			return -1
		}
		return a.Compare(*b)
	})
	return out
}

func nameOf(o *managedfields.Owner) string {
	if o == nil {
		return ""
	}
	return strings.Join([]string{o.Manager, o.Operation, o.Subresource}, "\x00")
}

func inner(all []event.FoughtPath) []event.FoughtPath {
	out := slices.DeleteFunc(slices.Clone(all), func(p event.FoughtPath) bool {
		return slices.ContainsFunc(all, func(o event.FoughtPath) bool { return len(o.Path) > len(p.Path) && o.Path.HasPrefix(p.Path) })
	})
	slices.SortFunc(out, func(a, b event.FoughtPath) int { return a.Path.Compare(b.Path) })
	return out
}

// builtIn reports whether an object of one of Kubernetes' own kinds controls this object, as a
// Deployment controls a ReplicaSet.
func (w *watched) builtIn() bool {
	owner := metav1.GetControllerOf(w.now)
	return owner != nil && object.IsBuiltIn(schema.FromAPIVersionAndKind(owner.APIVersion, "").Group)
}

// Result returns the fights. It omits a fight of a single writer over an object if there is also a
// fight over the object's controlling owner.
func (t *Tally) Result() []event.Fight {
	fights := map[types.UID]event.Fight{}
	for uid, w := range t.objects {
		if f, found := t.judge(w); found {
			fights[uid] = f
		}
	}
	var out []event.Fight
	for uid, f := range fights {
		if owner := metav1.GetControllerOf(t.objects[uid].now); owner != nil && f.Class != event.SeveralOwners {
			if _, fought := fights[owner.UID]; fought {
				continue
			}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b event.Fight) int { return cmp.Or(b.Writes-a.Writes, a.Ref.Compare(b.Ref)) })
	return out
}

// Unstored compares the number of writes that the API server counted with the number of stored
// changes, by kind. The difference is the number of writes that change nothing. If there are more
// than two of these a minute for each object, some object gets them repeatedly, which is a fight.
// If there are fewer, a tool might merely be applying all of its objects again.
func (t *Tally) Unstored(kinds []object.Kind, objects, written map[schema.GroupResource]int, in time.Duration) (found, few []event.Fight) {
	for _, kind := range kinds {
		resource := kind.GVR().GroupResource()
		idle := written[resource] - t.stored[resource]
		perMinute := float64(idle) / in.Minutes()
		f := event.Fight{Ref: object.Ref{GVK: kind.GVK}, Class: event.NotStored, Writes: idle}
		switch all := objects[resource] + t.created[resource]; {
		case idle < 2 || perMinute < 2:
		case perMinute > float64(2*max(all, 1)):
			found = append(found, f)
		default:
			few = append(few, f)
		}
	}
	return found, few
}
