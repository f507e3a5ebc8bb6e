// Package wait waits until objects meet their conditions, with one watch for each kind and
// namespace. Start with [Engine.Run] and a [Target] for each selection. Events report on each
// object; the error is about the whole wait. The package does not define conditions, search for
// causes or print.
package wait

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

// Source is the part of the API client that the engine needs. Its calls retry.
type Source interface {
	// Resource returns the kind for a TYPE. If the server does not serve it, meta.IsNoMatchError is
	// true for the error.
	Resource(ctx context.Context, text string) (object.Kind, error)
	// Schema returns a kind's OpenAPI schema; nil if there is none.
	Schema(ctx context.Context, kind object.Kind) (*spec.Schema, error)
	watchset.Watcher
}

// Goal is what to wait for on an object.
type Goal struct {
	// For are the conditions to meet: all of them by one version of the object; with Any, one of
	// them.
	For []condition.Spec
	Any bool
	// FailOn are conditions of which each ends the wait as failed when it is met.
	FailOn []condition.Spec
}

// Target selects objects and their goal. Targets with the same goal share the pointer.
type Target struct {
	object.Selection
	// Kind is the kind as the server describes it. If it is not served, Resource is empty, and Type
	// is looked up until it is.
	Kind object.Kind
	Type string
	Goal *Goal
	// Found: a selector found the object. Once it is gone, another one of the same name does not
	// replace it.
	Found bool
}

// Engine runs waits. Source and Emit are required.
type Engine struct {
	Source Source
	// Timeout limits the whole wait, unless Limits apply. 0 evaluates once; a negative value means
	// no limit.
	Timeout time.Duration
	// Limits are limits for kinds and conditions; may be nil. Most limits those too; 0 does not.
	Limits TimeLimits
	Most   time.Duration
	// Existence limits how long a required object, or its kind, may be missing. Nil means as long
	// as Timeout, and then a selector that matches nothing is an error.
	Existence *time.Duration
	// Objects adds to the results the objects that met their conditions.
	Objects bool
	// Explain explains why objects make no progress; may be nil.
	Explain func(ctx context.Context, objects []Stalled) Explanations
	// Complains reports whether an object's own status reports a fault, so that it is worth an
	// early explanation; nil means never.
	Complains func(*unstructured.Unstructured) bool
	// StuckAfter is how long an object must not move before it is explained during the wait. 0
	// explains only at the end.
	StuckAfter time.Duration
	// EndsFor returns how long a cause must last to end the wait as failed; 0 means that it never
	// does. Nil means 0 for all causes.
	EndsFor func(event.Cause) time.Duration
	// Absent returns why an object may be missing: its namespace is missing, or its name is almost
	// that of another object. A Ref without a name stands for a selector. It returns "" if unknown.
	// May be nil.
	Absent func(ctx context.Context, kind object.Kind, ref object.Ref) string
	// Emit is called for one event at a time.
	Emit func(event.Event)
}

// Stalled is an object that makes no progress.
type Stalled struct {
	Ref object.Ref
	// Moved: it has moved since the last explanation.
	Moved bool
	// Fresh: do not reuse facts.
	Fresh bool
}

// Explanations are the causes for each object, in order.
type Explanations struct {
	Causes [][]event.Cause
	// Requests counts the requests for each object, Shared those for all of them, and Again those
	// to expect for another explanation of one.
	Requests      []int
	Shared, Again int
}

// waitsFor reports whether the goal has a condition of this kind.
func (g *Goal) waitsFor(kind condition.Kind) bool {
	return slices.ContainsFunc(g.For, func(s condition.Spec) bool { return s.Kind == kind })
}

// end gives an object its result.
func (r *run) end(it *item, action event.Action) {
	it.done, it.action = true, action
	r.stalls.Drop(it)
	if action == event.Met {
		delete(r.hangs, it)
	}
	r.pending--
	it.view.pending--
	delete(r.unsaid, it)
	if it.timer != nil {
		it.timer.Stop()
	}
	switch action { // Other results are reported later, with causes.
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
	r.Emit(it.result())
	it.live, it.whole, it.verdict = nil, nil, verdict{} // There may be very many.
}

// result returns the object's result.
func (it *item) result() event.Waited {
	w := event.Waited{
		Ref: it.ref, Action: it.action, Any: it.goal.Any, Conditions: it.verdict.conditions, Note: it.note,
	}
	if it.whole != nil && it.action == event.Met {
		w.Object = redact.Object(it.whole)
	}
	return w
}

// message is a report from another goroutine to the run's.
type message struct {
	view *view
	// change is a change that its watch reports; nil in other messages.
	change object.Change
	// kind is served now, and compiled are its goals.
	kind     object.Kind
	compiled map[*Goal]*conditions
	// gone: the kind is not served, for the reason err.
	gone bool
	// item is one of the view's; why is why it may be missing.
	item      *item
	why       string
	explained *explained
	// late items ran out of time; causes are theirs.
	late   []*item
	causes [][]event.Cause
	// err is why the view ended.
	err error
}

// explained is the result of a batch of explanations.
type explained struct {
	items []*item
	// asked is when they began, so they do not cover later moves.
	asked time.Time
	Explanations
}

// group runs goroutines that send messages until their context ends.
type group struct {
	sync.WaitGroup
	tell func(message)
}

func newGroup(ctx context.Context, to chan<- message) *group {
	return &group{tell: func(m message) {
		select {
		case to <- m:
		case <-ctx.Done():
		}
	}}
}

func (g *group) start(watch func(tell func(message))) { g.Go(func() { watch(g.tell) }) }
