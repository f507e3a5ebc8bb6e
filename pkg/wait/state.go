package wait

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/schedule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

// run is one call of Run. Only one goroutine uses its fields; other goroutines send messages to
// that goroutine.
type run struct {
	*Engine
	began time.Time
	views []*view
	// items are ordered by target. Objects that a selector matches are in the order in which they
	// were found.
	items []*item

	rechecks chan *item
	over     chan struct{} // closed at the end

	// missing contains the items that did not exist at first and have not been reported yet.
	missing []*item
	// reported contains the reported reasons for missing objects.
	reported map[string]bool
	// unreported contains the items that changed since their last report.
	unreported map[*item]bool
	flush      <-chan time.Time

	// pending, met and left count items by state; named counts the items whose names were given at
	// the start.
	pending, met, left, named int
	// stop is set once the wait has to end, for example after a failure. The run still waits until
	// it has seen all objects.
	stop     bool
	timedOut bool
	// looking is set while the run evaluates the objects once, without waiting.
	looking bool
	// overtime is set once Timeout has expired, if some objects have a longer limit.
	overtime bool
	expired  []*item

	// stalls decides when stuck objects are explained; hangs contains what is known about them.
	stalls *schedule.Schedule[*item]
	hangs  map[*item]*hang
	// passed is set once the run has reported that some stuck objects are not explained.
	passed bool
}

func newRun(e *Engine, targets []Target) *run {
	r := &run{
		Engine: e, began: time.Now(),
		rechecks: make(chan *item), over: make(chan struct{}),
		unreported: map[*item]bool{}, reported: map[string]bool{},
		stalls: schedule.New[*item](schedule.Usual(e.StuckAfter)), hangs: map[*item]*hang{},
	}
	across := &watchset.Across{Watcher: e.Source, Worth: e.WorthAcross}
	spread := map[schema.GroupVersionKind]int{}
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
			sight := &watchset.View{Server: across, Selection: object.Selection{Namespace: t.Namespace}}
			v = &view{sight: sight, typ: t.Type, kind: t.Kind, namespace: t.Namespace, named: map[string]*item{}}
			views[at] = v
			r.views = append(r.views, v)
			spread[t.Kind.GVK]++
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
	for kind, n := range spread {
		across.Expect(kind, n)
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
	// sight is used only by the goroutine that follows the view. The run uses the other fields.
	sight *watchset.View

	typ       string
	kind      object.Kind // Resource is empty while the kind is not served
	namespace string
	labels    string

	// named contains the objects to wait for by name; it is nil if the view has a selector.
	named    map[string]*item
	selected map[key]*item
	// goal is the goal of objects that a selector matches. Named objects have goals of their own.
	goal     *Goal
	compiled map[*Goal]*conditions

	pending int // objects without a result
	// synced is set if the view has reported all existing objects. Any object that it has not
	// reported is then missing. seen is set when the view is first synced, and stays set.
	synced, seen bool
	unserved     error // while the kind is not served
	blind        error // while changes cannot be read
	ended        error // after the watch
}

type key struct{ namespace, name string }

func (v *view) selecting() bool { return v.named == nil }

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

// settled reports whether the view knows which of its objects exist, or knows that it cannot find
// out.
func (v *view) settled() bool { return v.synced || v.ended != nil || v.unserved != nil }

func (v *view) describe() string {
	text := v.typ
	if v.kind.Resource != "" {
		text = v.kind.GVR().GroupResource().String()
	}
	return Selected(text, object.Selection{Namespace: v.namespace, Labels: v.labels})
}

func (v *view) items() []*item {
	return slices.AppendSeq(slices.Collect(maps.Values(v.named)), maps.Values(v.selected))
}

type item struct {
	ref  object.Ref
	view *view
	goal *Goal

	// found is set if a selector found the object, so that another object with its name does not
	// replace it.
	found bool
	known bool // it is known whether the object exists
	// live contains the fields that the conditions read, as last seen; nil while the object does
	// not exist.
	live map[string]any
	uid  types.UID
	// absent is when the object went missing; zero while it exists. appeared is when it was first
	// seen.
	absent, appeared time.Time
	note             string
	why              string // a possible reason why the object is missing

	verdict  verdict
	whole    *unstructured.Unstructured // if the caller asked for objects
	reported event.Judged               // the last report
	burst    schedule.Burst
	done     bool // set once action is the result
	action   event.Action
	// expired is set if the object ran out of time during the wait. Its result is then late.
	// lateReported is set once that has been reported.
	expired, lateReported bool
	late                  *event.Waited
	timer                 *time.Timer // for the next evaluation
}

func (it *item) away() bool {
	return it.done && (it.action == event.Gone || it.action == event.Unselected)
}

// asked limits the number of missing objects for which the run searches for a reason.
const asked = 5

func (r *run) missed(it *item) {
	goal := it.goal
	if !r.looking && !goal.waitsFor(condition.Create) && !goal.waitsFor(condition.Delete) && (r.Existence == nil || *r.Existence > 0) {
		r.missing = append(r.missing, it)
	}
}

func (r *run) reportMissing(ctx context.Context, asking *group) {
	missing := r.missing
	r.missing = nil
	if len(missing) == 0 || r.Absent == nil {
		return
	}
	slices.SortFunc(missing, func(a, b *item) int { return a.ref.Compare(b.ref) })
	what := missing[0].ref.String() + " does not exist yet; waiting for it"
	if more := len(missing) - 1; more > 0 {
		what = fmt.Sprintf("%s and %d more do not exist yet; waiting for them", missing[0].ref, more)
	}
	r.Emit(event.Warned{Text: what})
	for _, it := range missing[:min(asked, len(missing))] {
		kind, ref := it.view.kind, it.ref
		asking.start(func(report func(message)) {
			report(message{view: it.view, item: it, why: r.Absent(ctx, kind, ref)})
		})
	}
}

// absentFor records why an item is missing, and reports each reason once.
func (r *run) absentFor(it *item, why string) {
	it.why = why
	if why == "" || r.reported[why] {
		return
	}
	r.reported[why] = true
	r.Emit(event.Warned{Text: why})
}

// whyAbsent adds to the results why objects do not exist. It asks about a few of them only, since each costs
// requests when the time is already over.
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
