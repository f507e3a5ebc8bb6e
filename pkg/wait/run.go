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

// compile compiles the goals, so that mistakes are reported before the wait begins. For a kind that
// is not served yet, it only checks the syntax.
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

func (r *run) plan() {
	phase := event.Phase{Name: "waiting", Total: len(r.items)}
	for _, it := range r.items {
		phase.Refs = append(phase.Refs, it.ref)
	}
	within := max(0, r.Timeout)
	if len(r.Limits) > 0 { // Some objects may have more time.
		within = 0
	}
	r.Emit(event.Planned{Phases: []event.Phase{phase}, Within: within})
	r.Emit(event.PhaseStarted{})
}

// follow waits until every object has met its goal, an object has failed, or time is up.
func (r *run) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	messages := make(chan message, 64)
	watches := newGroup(ctx, messages)
	defer func() { cancel(); watches.Wait() }()
	for _, v := range r.views {
		watches.start(func(report func(message)) { r.Engine.follow(ctx, v, report) })
	}
	var deadline, existence <-chan time.Time
	if r.Timeout > 0 {
		deadline = time.After(r.Timeout)
	}
	if r.Existence != nil {
		existence = time.After(*r.Existence)
	}
	var asking <-chan time.Time
	if r.hears() {
		ticker := time.NewTicker(looksEvery)
		defer ticker.Stop()
		asking = ticker.C
	}
	for !r.finished() {
		select {
		case <-asking:
			r.explain(ctx, watches)
		case m := <-messages:
			for _, v := range r.receive(ctx, m) {
				watches.start(func(report func(message)) { r.Engine.follow(ctx, v, report) })
			}
		case it := <-r.rechecks:
			r.evaluate(ctx, it)
		case <-r.flush:
			r.emitLate()
			r.reportMissing(ctx, watches)
		case <-existence: // finished may be true now.
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
		if len(r.expired) > 0 && !r.finished() { // Otherwise, r.finish reports them.
			r.reportExpired(ctx, watches)
		}
	}
}

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
	default: // The selectors match nothing, or everything that they matched is gone.
		return !slices.ContainsFunc(r.views, (*view).selecting) || r.left == 0 && !r.awaitsFirst()
	}
}

func (r *run) awaitsFirst() bool {
	for _, v := range r.views {
		if v.ended == nil && v.goal != nil && !v.goal.waitsFor(condition.Delete) &&
			(r.Existence != nil && time.Since(r.began) < *r.Existence || v.goal.waitsFor(condition.Create)) {
			return true
		}
	}
	return false
}

// Check performs the checks that Run performs before it waits.
func (e *Engine) Check(ctx context.Context, targets []Target) error {
	return newRun(e, targets).compile(ctx)
}

// Run waits until every object meets its goal. The first object that fails ends the wait for all.
//
// Before the wait, Run returns an error for conditions that do not compile for a kind. It returns
// an *[UnmetError] if some objects do not meet their goal. It returns a *[NothingError] if a
// selector matches nothing, and ctx's error after an interrupt.
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

// hang is what the run knows about an object that makes no progress.
type hang struct {
	marks    schedule.Marks
	reported schedule.Reported
	// moved is when the object last made progress; asked is when the last explanation of it began.
	moved, asked time.Time
	causes       []event.Cause
	// lasting contains, for each cause that may end the wait, the time since which every
	// explanation has reported it. decides is set if the explanation in progress reads all facts
	// again, so that it may end the wait.
	lasting map[causeKey]time.Time
	decides bool
}

func (h *hang) outdated() bool { return h.moved.After(h.asked) }

// confirms reports whether an explanation shows that a cause still existed at the given time. If
// the cause is only a controller's record of a refusal, the controller must have retried after that
// time. The controller retries at growing intervals, so the reason for the refusal may be gone by
// now.
func (h *hang) confirms(c event.Cause, due time.Time) bool {
	return !c.Hearsay || !h.asked.Add(-c.Age).Before(due)
}

type causeKey struct {
	code    string
	blocked object.Ref
}

func keyOf(c event.Cause) causeKey { return causeKey{c.Code, c.BlockedBy} }

// lastLook is short, because a user does not want to wait much longer than the timeout.
const lastLook = 5 * time.Second

var errNotReported = errors.New("could not find out in time whether the server serves the kind")

// evaluateOnce reads and evaluates the objects once. The run does so when the timeout expires,
// because the state at that moment counts (edge case 54), or instead of waiting (edge case 53).
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
			if v.kind.Resource == "" { // The last answer may be outdated.
				v.unserved, v.blind = nil, errNotReported
			}
			looks.start(func(report func(message)) { r.lookAt(ctx, v, report) })
		}
	}
	done := make(chan struct{})
	go func() { looks.Wait(); close(done) }()
	for {
		select {
		case m := <-messages:
			for _, v := range r.receive(ctx, m) {
				looks.start(func(report func(message)) { r.lookAt(ctx, v, report) })
			}
		case <-done:
			return
		}
	}
}

func (e *Engine) lookAt(ctx context.Context, v *view, report func(message)) {
	v.sight.Kind = v.kind
	if v.kind.Resource == "" {
		served, err := e.Source.Resource(ctx, v.typ)
		switch {
		case ctx.Err() != nil: // Time is up.
			return
		case meta.IsNoMatchError(err):
			report(message{view: v, gone: true, err: err})
			return
		case err != nil:
			report(message{view: v, err: err})
			return
		}
		compiled, err := e.compileAll(ctx, served, v.goals())
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			report(message{view: v, err: err})
			return
		}
		v.sight.Kind = served
		report(message{view: v, kind: served, compiled: compiled})
	}
	err := v.sight.List(ctx, func(c object.Change) { report(message{view: v, change: c}) })
	switch {
	case err == nil, ctx.Err() != nil: // The list is complete, or time is up.
	case meta.IsNoMatchError(err):
		report(message{view: v, gone: true, err: err})
	default:
		report(message{view: v, err: err})
	}
}
