// Package wait waits until objects meet their conditions, with one watch for each kind and
// namespace. Start with [Engine.Run] and a [Target] for each selection. Events report each object;
// the error is about the whole. It does not define conditions, search for causes or print.
package wait

import (
	"context"
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
	// Resource finds the kind of a TYPE. If the server serves none, meta.IsNoMatchError is true for
	// the error.
	Resource(ctx context.Context, text string) (object.Kind, error)
	// Schema returns the OpenAPI schema of a kind; nil if there is none.
	Schema(ctx context.Context, kind object.Kind) (*spec.Schema, error)
	watchset.Watcher
}

// Goal is the goal for an object.
type Goal struct {
	// For are the conditions to meet: all of them on one version of the object, or with Any one.
	For []condition.Spec
	Any bool
	// FailOn are conditions that end the wait if one is met.
	FailOn []condition.Spec
}

// Target selects objects and their goal. Targets with the same Goal share the pointer.
type Target struct {
	object.Selection
	// Kind is the kind as the cluster serves it. If it is not served, Resource is empty, and the
	// cluster is asked for Type again and again.
	Kind object.Kind
	Type string
	Goal *Goal
	// Found: the target is an object that a selector found under that name. Once it is gone, no
	// other is waited for.
	Found bool
}

// Engine waits in one run. Source and Emit are required.
type Engine struct {
	Source Source
	// Timeout bounds the whole, unless Limits say otherwise; 0 looks once, and a negative value
	// sets no limit.
	Timeout time.Duration
	// Limits are times for single kinds and conditions; may be nil. Most bounds those as well; 0
	// does not.
	Limits TimeLimits
	Most   time.Duration
	// Existence bounds how long an object, or its kind, may be absent if its goal needs it; nil
	// means as long as Timeout, and then a selector that matches nothing is an error.
	Existence *time.Duration
	// Objects adds the whole objects that met their conditions.
	Objects bool
	// Explain finds out why objects make no progress, one explanation for each; nil finds nothing.
	Explain func(ctx context.Context, objects []Stalled) Explanations
	// Complains reports whether an object itself says that something is wrong, so that it is worth
	// an early explanation; nil means never.
	Complains func(*unstructured.Unstructured) bool
	// StuckAfter is how long nothing moves in an object before Explain is called for it during the
	// wait; 0 calls it only at the end.
	StuckAfter time.Duration
	// EndsFor returns how long a cause has to last to end the wait as failed; 0 means that it never
	// does. nil means 0 for all.
	EndsFor func(event.Cause) time.Duration
	// Absent returns why an object may be missing: its namespace is missing, or its name is almost
	// that of another. A Ref without a name is for a selector. Empty if unknown; may be nil.
	Absent func(ctx context.Context, kind object.Kind, ref object.Ref) string
	// Emit is called for each event, one at a time.
	Emit func(event.Event)
}

// Stalled is an object without progress, to be explained.
type Stalled struct {
	Ref object.Ref
	// Moved: something has moved since the last explanation.
	Moved bool
	// Fresh: use nothing that was read before.
	Fresh bool
}

// Explanations are the answers, in the order of the objects.
type Explanations struct {
	Causes [][]event.Cause
	// Requests are how many each of them took, Shared how many were for all of them, and Again how
	// many another look at one of them takes.
	Requests      []int
	Shared, Again int
}

// waitsFor reports whether the goal has a condition of this kind.
func (g *Goal) waitsFor(kind condition.Kind) bool {
	for _, s := range g.For {
		if s.Kind == kind {
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
	switch action { // A bad result is reported later, with its causes.
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
	r.emit(it.result())
	it.live, it.whole, it.verdict = nil, nil, verdict{} // There may be very many.
}

// result returns the result of the object.
func (it *item) result() event.Waited {
	w := event.Waited{
		Ref: it.ref, Action: it.action, Any: it.goal.Any, Conditions: it.verdict.conditions, Note: it.note,
	}
	if it.whole != nil && it.action == event.Met {
		w.Object = redact.Object(it.whole)
	}
	return w
}

// settled forgets the causes of an object that has its result.
func (r *run) settled(it *item) {
	r.stalls.Drop(it)
	if it.action == event.Met {
		delete(r.hangs, it)
	}
}

// message is a report from a view's goroutine.
type message struct {
	view *view
	// change is a report of its watch; nil for other messages.
	change object.Change
	// kind is served now, and compiled are its goals.
	kind     object.Kind
	compiled map[*Goal]*conditions
	// gone: the kind is not served; err is why.
	gone bool
	// item is one of the view's, and why says why it may be missing.
	item *item
	why  string
	// explained is the result of a batch of explanations.
	explained *explained
	// late items ran out of time, and causes are theirs.
	late   []*item
	causes [][]event.Cause
	// err is the end of the view.
	err error
}

// explained is the result of a batch of explanations.
type explained struct {
	items []*item
	// asked is when they began: they know nothing of later moves.
	asked time.Time
	Explanations
}

// group runs goroutines that send messages until their context is done.
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
