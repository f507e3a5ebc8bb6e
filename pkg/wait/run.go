package wait

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/observe"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/stall"
)

// run is one call of Run. Everything in it belongs to one goroutine; the others
// send messages.
type run struct {
	*Engine
	began time.Time
	views []*view
	// items in the order of the targets, then as they were found.
	items []*item

	messages chan message
	rechecks chan *item
	over     chan struct{} // closed at the end

	// missing items were not there at first, and nobody was told yet.
	missing []*item
	// told is what was said of why objects are not there.
	told map[string]bool
	// unsaid items have changed since something was said of them.
	unsaid map[*item]bool
	flush  <-chan time.Time

	// pending, met and left count items; named those that were so from the start.
	pending, met, left, named int
	// stop: an object failed, so the wait is over as soon as all was looked at.
	stop bool
	// timedOut: the time is over.
	timedOut bool
	// looking: only what is there now counts.
	looking bool

	// stalls says when it is asked why objects hang, hangs has what is known of that.
	stalls *stall.Schedule[*item]
	hangs  map[*item]*hang
	// passed: it was said that not all of them are looked into.
	passed bool
}

func newRun(e *Engine, targets []Target) *run {
	r := &run{
		Engine: e, began: time.Now(),
		messages: make(chan message, 64), rechecks: make(chan *item), over: make(chan struct{}),
		unsaid: map[*item]bool{}, told: map[string]bool{},
		stalls: stall.New[*item](stall.Usual(e.StuckAfter)), hangs: map[*item]*hang{},
	}
	type place struct{ kind, namespace string }
	views := map[place]*view{}
	for _, t := range targets {
		if t.Name == "" {
			r.views = append(r.views, &view{
				sight: &observe.View{Server: e.Source, Selection: t.Selection},
				typ:   t.Type, kind: t.Kind, namespace: t.Namespace, labels: t.Labels,
				goal: t.Goal, selected: map[key]*item{},
			})
			continue
		}
		at := place{t.Kind.GVK.String(), t.Namespace}
		v := views[at]
		if v == nil {
			sight := &observe.View{Server: e.Source, Selection: object.Selection{Namespace: t.Namespace}}
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

func (r *run) now() time.Time { return time.Now() }

func (r *run) emit(e event.Event) { r.Emit(e) }

// compile compiles the goals for the kinds that are known, so that a slip is told
// before anything is waited for. What a kind that is not served yet will be like
// nobody knows; of its conditions, only the form is looked at.
func (r *run) compile(ctx context.Context) error {
	var faults []error
	for _, v := range r.views {
		var err error
		if v.compiled, err = r.compileAll(ctx, v.kind, v.goals()); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// plan says what is waited for, as far as it has names.
func (r *run) plan() {
	phase := event.Phase{Name: "waiting", Total: len(r.items)}
	for _, it := range r.items {
		phase.Refs = append(phase.Refs, it.ref)
	}
	r.emit(event.Planned{Phases: []event.Phase{phase}, Within: max(0, r.Timeout)})
	r.emit(event.PhaseStarted{})
}

// follow waits until everything is met, something failed, or the time is over.
func (r *run) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	watches := newGroup(ctx, r.messages)
	defer func() { cancel(); watches.Wait() }()
	for _, v := range r.views {
		watches.start(func(tell func(message)) { r.Engine.follow(ctx, v, tell) })
	}
	var deadline, existence <-chan time.Time
	if r.Timeout > 0 {
		deadline = time.After(r.Timeout)
	}
	if r.Existence != nil {
		existence = time.After(*r.Existence)
	}
	asking, stop := r.asking()
	defer stop()
	for !r.finished() {
		select {
		case <-asking:
			r.ask(ctx, watches)
		case m := <-r.messages:
			for _, v := range r.take(ctx, m) {
				watches.start(func(tell func(message)) { r.Engine.follow(ctx, v, tell) })
			}
		case it := <-r.rechecks:
			r.judge(ctx, it)
		case <-r.flush:
			r.say()
			r.tellMissing(ctx, watches)
		case <-existence: // There may be nothing left to wait for.
		case <-deadline:
			r.timedOut = true
			return
		case <-ctx.Done():
			return
		}
	}
}

// finished reports whether nothing is left to wait for.
func (r *run) finished() bool {
	open := false
	for _, v := range r.views {
		if !v.settled() && (!r.stop || v.blind == nil) {
			return false
		}
		open = open || v.pending > 0 && v.ended == nil
	}
	switch {
	case r.stop:
		return true
	case r.pending > 0:
		return !open
	case r.met > 0 || r.named > 0:
		return true
	default: // Selectors match nothing, or nothing any more.
		return !r.selects() || r.left == 0 && !r.awaitsFirst()
	}
}

// selects reports whether more may come to match a selector.
func (r *run) selects() bool { return slices.ContainsFunc(r.views, (*view).selecting) }

// awaitsFirst reports whether it is waited for a first object that a selector
// matches.
func (r *run) awaitsFirst() bool {
	for _, v := range r.views {
		if v.ended == nil && v.goal != nil && !v.goal.waitsFor(condition.Delete) &&
			(r.Existence != nil && r.now().Sub(r.began) < *r.Existence || v.goal.waitsFor(condition.Create)) {
			return true
		}
	}
	return false
}

// end gives an object its result.
func (r *run) end(it *item, action event.Action) {
	it.done, it.action = true, action
	r.settled(it)
	r.pending--
	it.view.pending--
	delete(r.unsaid, it)
	if it.timer != nil {
		it.timer.Stop()
	}
	switch action { // What is not well is told when somebody looked for the causes.
	case event.Met:
		r.met++
	case event.Gone, event.Unselected:
		r.left++
	case event.Failed:
		r.stop = true
		return
	default:
		return
	}
	r.emit(it.result(r.now().Sub(r.began)))
	it.live, it.whole, it.verdict = nil, nil, verdict{} // It may be one of very many.
}

// result is what became of the object.
func (it *item) result(after time.Duration) event.Waited {
	w := event.Waited{
		Ref: it.ref, Action: it.action, Any: it.goal.Any, Conditions: it.verdict.conditions, Note: it.note, After: after,
	}
	if it.whole != nil && it.action == event.Met {
		w.Object = redact.Object(it.whole)
	}
	return w
}

// bursts is how long changes are gathered before they are told: a controller that
// writes an object three times in a moment is one change. What goes on changing is told
// once a second.
const bursts = 100 * time.Millisecond

// dirty remembers that there is something to say of an object.
func (r *run) dirty(it *item) {
	r.unsaid[it] = true
	if r.flush == nil {
		r.flush = time.After(bursts)
	}
}

// say tells how far objects are of which that has changed.
func (r *run) say() {
	r.flush = nil
	next := time.Minute
	for _, it := range r.items {
		if !r.unsaid[it] {
			continue
		}
		now := event.Judged{Ref: it.ref, Conditions: it.verdict.conditions, Note: it.note}
		if it.live == nil {
			now.Note = notThere(it)
		}
		if same(it.told, now) {
			delete(r.unsaid, it)
			continue
		}
		if left := it.burst.Left(r.now()); left > 0 {
			next = min(next, left)
			continue
		}
		delete(r.unsaid, it)
		it.told = now
		r.emit(now)
	}
	if len(r.unsaid) > 0 {
		r.flush = time.After(next)
	}
}
