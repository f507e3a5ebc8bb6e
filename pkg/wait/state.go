package wait

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/schedule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

// run is one call of Run. All its fields belong to one goroutine; the others send messages.
type run struct {
	*Engine
	began time.Time
	views []*view
	// items are in the order of the targets, then in the order found.
	items []*item

	rechecks chan *item
	over     chan struct{} // closed at the end

	// missing items did not exist at first, and were not reported yet.
	missing []*item
	// told are the reasons for missing objects reported so far.
	told map[string]bool
	// unsaid items have changed since their last report.
	unsaid map[*item]bool
	flush  <-chan time.Time

	// pending, met and left count items; named counts those with names from the start.
	pending, met, left, named int
	// stop: an object failed, so the wait ends once all objects were seen.
	stop bool
	// timedOut: the time is over.
	timedOut bool
	// looking: evaluate once, without waiting.
	looking bool
	// overtime: the time of the whole wait is over, but some objects have more.
	overtime bool
	// expired items ran out of time, and were not reported yet.
	expired []*item

	// stalls decides when to explain stuck objects; hangs contains what is known about them.
	stalls *schedule.Schedule[*item]
	hangs  map[*item]*hang
	// passed: it was reported that some objects are not explained.
	passed bool
}

func newRun(e *Engine, targets []Target) *run {
	r := &run{
		Engine: e, began: time.Now(),
		rechecks: make(chan *item), over: make(chan struct{}),
		unsaid: map[*item]bool{}, told: map[string]bool{},
		stalls: schedule.New[*item](schedule.Usual(e.StuckAfter)), hangs: map[*item]*hang{},
	}
	type place struct{ kind, namespace string }
	views := map[place]*view{}
	for _, t := range targets {
		if t.Name == "" {
			r.views = append(r.views, &view{
				sight: &watchset.View{Server: e.Source, Selection: t.Selection},
				typ:   t.Type, kind: t.Kind, namespace: t.Namespace, labels: t.Labels,
				goal: t.Goal, selected: map[key]*item{},
			})
			continue
		}
		at := place{t.Kind.GVK.String(), t.Namespace}
		v := views[at]
		if v == nil {
			sight := &watchset.View{Server: e.Source, Selection: object.Selection{Namespace: t.Namespace}}
			v = &view{sight: sight, typ: t.Type, kind: t.Kind, namespace: t.Namespace, named: map[string]*item{}}
			views[at] = v
			r.views = append(r.views, v)
		}
		if v.named[t.Name] == nil {
			ref := object.Ref{GVK: t.Kind.GVK, Namespace: t.Namespace, Name: t.Name}
			v.sight.Names = append(v.sight.Names, t.Name)
			v.named[t.Name] = r.add(&item{ref: ref, view: v, goal: t.Goal, found: t.Found})
			if !t.Found {
				r.named++
			}
		}
	}
	return r
}

func (r *run) add(it *item) *item {
	r.items = append(r.items, it)
	r.pending++
	it.view.pending++
	return it
}

// view is a watch for objects of one kind and namespace, by names or by labels.
type view struct {
	// sight belongs to the goroutine that follows it, all other fields to the run.
	sight *watchset.View

	typ       string
	kind      object.Kind // Resource is empty while it is not served
	namespace string
	labels    string

	// named lists the named objects; nil for a selector.
	named map[string]*item
	// selected lists the objects that the selector has matched so far.
	selected map[key]*item
	// goal is the goal for selected objects. Named objects have their own.
	goal *Goal
	// compiled contains the view's goals, once its kind is known.
	compiled map[*Goal]*conditions

	// pending counts objects without a result.
	pending int
	// synced: objects that were not reported do not exist. seen: it was synced once.
	synced, seen bool
	// unserved is why the kind is not served; nil if it is.
	unserved error
	// blind is why changes cannot be seen now; nil if they can.
	blind error
	// ended is why nothing more will be seen; nil while the watch continues.
	ended error
}

// key identifies an object within a kind.
type key struct{ namespace, name string }

// selecting reports whether the view has a selector.
func (v *view) selecting() bool { return v.named == nil }

// goals returns the goals of the view's objects, without duplicates.
func (v *view) goals() []*Goal {
	if v.goal != nil {
		return []*Goal{v.goal}
	}
	var goals []*Goal
	for _, it := range v.named {
		if !slices.Contains(goals, it.goal) {
			goals = append(goals, it.goal)
		}
	}
	return goals
}

// settled reports whether it is known which objects exist.
func (v *view) settled() bool { return v.synced || v.ended != nil || v.unserved != nil }

// what describes the view's objects.
func (v *view) what() string {
	text := v.typ
	if v.kind.Resource != "" {
		text = v.kind.GVR().GroupResource().String()
	}
	return Selected(text, object.Selection{Namespace: v.namespace, Labels: v.labels})
}

// all returns the view's items.
func (v *view) all() []*item {
	return slices.AppendSeq(slices.Collect(maps.Values(v.named)), maps.Values(v.selected))
}

// item is an object that is waited for.
type item struct {
	ref  object.Ref
	view *view
	goal *Goal

	// found: a selector found it, so another object of the same name does not replace it.
	found bool
	// known: it is known whether it exists.
	known bool
	// live is the part that the conditions read, as last seen; nil while it does not exist.
	live map[string]any
	// uid is the UID of the last object.
	uid types.UID
	// absent is since when it has been missing; zero while it exists. appeared is when it first
	// existed; zero if it has not.
	absent, appeared time.Time
	note             string
	// why is why it may be missing.
	why string

	verdict verdict
	// whole is the object, if the caller wants it.
	whole *unstructured.Unstructured
	// told is its last report.
	told  event.Judged
	burst schedule.Burst
	// done is set once the object has its result, action.
	done   bool
	action event.Action
	// expired is set if the object ran out of time during the wait, late is its result, and
	// lateTold is set once late has been reported.
	expired, lateTold bool
	late              *event.Waited
	// timer triggers the next evaluation.
	timer *time.Timer
}

// away reports whether the object's wait ended because the object was gone.
func (it *item) away() bool {
	return it.done && (it.action == event.Gone || it.action == event.Unselected)
}

// asked limits how many missing objects are examined.
const asked = 5

// missed records an object that is unexpectedly missing at first: its name may be a typo.
func (r *run) missed(it *item) {
	goal := it.goal
	if !r.looking && !goal.waitsFor(condition.Create) && !goal.waitsFor(condition.Delete) && (r.Existence == nil || *r.Existence > 0) {
		r.missing = append(r.missing, it)
	}
}

// tellMissing reports missing objects at once, and starts to examine why.
func (r *run) tellMissing(ctx context.Context, asking *group) {
	missing := r.missing
	r.missing = nil
	if len(missing) == 0 || r.Absent == nil {
		return
	}
	slices.SortFunc(missing, func(a, b *item) int { return strings.Compare(a.ref.String(), b.ref.String()) })
	what := missing[0].ref.String() + " does not exist yet; waiting for it"
	if more := len(missing) - 1; more > 0 {
		what = fmt.Sprintf("%s and %d more do not exist yet; waiting for them", missing[0].ref, more)
	}
	r.Emit(event.Warned{Text: what})
	for _, it := range missing[:min(asked, len(missing))] {
		kind, ref := it.view.kind, it.ref
		asking.start(func(tell func(message)) {
			tell(message{view: it.view, item: it, why: r.Absent(ctx, kind, ref)})
		})
	}
}

// absentFor records why an object may be missing, and reports each reason once.
func (r *run) absentFor(it *item, why string) {
	it.why = why
	if why == "" || r.told[why] {
		return
	}
	r.told[why] = true
	r.Emit(event.Warned{Text: why})
}

// whyAbsent adds to the results of missing objects why they may be missing.
func (r *run) whyAbsent(ctx context.Context, items []*item, results []event.Waited) {
	if r.Absent == nil || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, explaining)
	defer cancel()
	var wait sync.WaitGroup
	left := asked
	for i, it := range items {
		if it.live != nil || !it.known || it.found || left == 0 || results[i].Action == event.Unknown {
			continue
		}
		left--
		wait.Go(func() {
			why := it.why
			if why == "" {
				why = r.Absent(ctx, it.view.kind, it.ref)
			}
			if why != "" {
				results[i].Note += "; " + why
			}
		})
	}
	wait.Wait()
}

func notThere(it *item) string { return cmp.Or(it.note, "does not exist") }
