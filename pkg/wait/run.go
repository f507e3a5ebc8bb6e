package wait

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/schedule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// compile compiles the goals for the known kinds, so that a mistake is reported before the wait
// begins. For a kind that is not served yet, only the form of its conditions is checked.
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

// plan reports what is waited for, as far as it has names.
func (r *run) plan() {
	phase := event.Phase{Name: "waiting", Total: len(r.items)}
	for _, it := range r.items {
		phase.Refs = append(phase.Refs, it.ref)
	}
	within := max(0, r.Timeout)
	if len(r.Limits) > 0 { // It may be longer.
		within = 0
	}
	r.emit(event.Planned{Phases: []event.Phase{phase}, Within: within})
	r.emit(event.PhaseStarted{})
}

// follow waits until everything is met, something failed, or the time is over.
func (r *run) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	messages := make(chan message, 64)
	watches := newGroup(ctx, messages)
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
		case m := <-messages:
			for _, v := range r.receive(ctx, m) {
				watches.start(func(tell func(message)) { r.Engine.follow(ctx, v, tell) })
			}
		case it := <-r.rechecks:
			r.evaluate(ctx, it)
		case <-r.flush:
			r.say()
			r.tellMissing(ctx, watches)
		case <-existence: // There may be nothing left to wait for.
		case <-deadline:
			left := r.timeUp(ctx)
			if left == 0 {
				r.timedOut = true
				return
			}
			deadline = time.After(left)
		case <-ctx.Done():
			return
		}
		if len(r.expired) > 0 && !r.finished() { // Otherwise they are reported with the rest.
			r.tellExpired(ctx, watches)
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

// selects reports whether more objects may match a selector.
func (r *run) selects() bool { return slices.ContainsFunc(r.views, (*view).selecting) }

// awaitsFirst reports whether the run waits for the first match of a selector.
func (r *run) awaitsFirst() bool {
	for _, v := range r.views {
		if v.ended == nil && v.goal != nil && !v.goal.waitsFor(condition.Delete) &&
			(r.Existence != nil && r.now().Sub(r.began) < *r.Existence || v.goal.waitsFor(condition.Create)) {
			return true
		}
	}
	return false
}

// Check checks conditions, as Run would before it waits.
func (e *Engine) Check(ctx context.Context, targets []Target) error {
	return newRun(e, targets).compile(ctx)
}

// Run waits until every object meets its goal. Conditions that do not compile for one of the kinds
// are an error before the wait. Otherwise it returns an *[UnmetError] if some are not met, a
// *[NothingError] if a selector matches nothing, and ctx's error if it was interrupted.
//
// The first object that fails ends the wait for all.
func (e *Engine) Run(ctx context.Context, targets []Target) error {
	r := newRun(e, targets)
	if err := r.compile(ctx); err != nil {
		return err
	}
	r.plan()
	if e.Timeout != 0 {
		r.follow(ctx)
	}
	if ctx.Err() == nil && (e.Timeout == 0 || r.timedOut) {
		r.evaluateOnce(ctx)
	}
	return r.finish(ctx)
}

// hang is what we know about why an object makes no progress.
type hang struct {
	marks schedule.Marks
	told  schedule.Told
	// moved is when something last moved, asked when it was last explained.
	moved, asked time.Time
	causes       []event.Cause
	// lasting are causes that may end the wait, each with the start of its unbroken row of reports.
	// decides: the current explanation reads everything anew.
	lasting map[causeKey]time.Time
	decides bool
}

// outdated reports whether something has moved since the last explanation.
func (h *hang) outdated() bool { return h.moved.After(h.asked) }

// confirms reports whether a cause still holds when its time is over. A controller's record proves
// that only if the controller has tried again since: it tries ever more rarely, and its obstacle
// may be gone.
func (h *hang) confirms(c event.Cause, due time.Time) bool {
	return !c.Hearsay || !h.asked.Add(-c.Age).Before(due)
}

// causeKey identifies a lasting cause.
type causeKey struct {
	code    string
	blocked object.Ref
}

func keyOf(c event.Cause) causeKey { return causeKey{c.Code, c.BlockedBy} }

// lastLook bounds the look at the end: a user who set a timeout does not want to wait much longer.
const lastLook = 5 * time.Second

// errNotTold: the server has not said whether it serves the kind.
var errNotTold = errors.New("the server did not say in time whether it serves the kind")

// evaluateOnce evaluates the objects as they are now: at the end of the time, because what is true
// exactly then counts (edge case 54), and if there is no time at all (edge case 53).
func (r *run) evaluateOnce(ctx context.Context) {
	r.looking = true
	if r.Timeout != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lastLook)
		defer cancel()
	}
	messages := make(chan message)
	looks := newGroup(ctx, messages)
	for _, v := range r.views {
		if v.ended == nil && (v.pending > 0 || !v.synced) {
			if v.kind.Resource == "" { // The earlier answer may be outdated.
				v.unserved, v.blind = nil, errNotTold
			}
			looks.start(func(tell func(message)) { r.lookAt(ctx, v, tell) })
		}
	}
	done := make(chan struct{})
	go func() { looks.Wait(); close(done) }()
	for {
		select {
		case m := <-messages:
			for _, v := range r.receive(ctx, m) {
				looks.start(func(tell func(message)) { r.lookAt(ctx, v, tell) })
			}
		case <-done:
			return
		}
	}
}

// lookAt reads the objects of a view once.
func (e *Engine) lookAt(ctx context.Context, v *view, tell func(message)) {
	v.sight.Kind = v.kind
	if v.kind.Resource == "" {
		served, err := e.Source.Resource(ctx, v.typ)
		switch {
		case ctx.Err() != nil: // The time is over.
			return
		case meta.IsNoMatchError(err):
			tell(message{view: v, gone: true, err: err})
			return
		case err != nil:
			tell(message{view: v, err: err})
			return
		}
		compiled, err := e.compileAll(ctx, served, v.goals())
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			tell(message{view: v, err: err})
			return
		}
		v.sight.Kind = served
		tell(message{view: v, kind: served, compiled: compiled})
	}
	err := v.sight.List(ctx, func(c object.Change) { tell(message{view: v, change: c}) })
	switch {
	case err == nil, ctx.Err() != nil: // Enough was seen, or the time is over.
	case meta.IsNoMatchError(err):
		tell(message{view: v, gone: true, err: err})
	default:
		tell(message{view: v, err: err})
	}
}
