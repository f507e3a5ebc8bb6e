// Package wait waits until objects meet their conditions, over one watch for each kind and
// namespace. Start with [Engine.Run] and a [Target] for each selection. Events report each object;
// the error says only how the whole went. It does not define conditions, look for causes or print.
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

// Source is what the engine needs of a cluster. Its calls retry what may pass.
type Source interface {
	// Resource finds the kind that a TYPE stands for. That the server serves none
	// is an error for which meta.IsNoMatchError is true.
	Resource(ctx context.Context, text string) (object.Kind, error)
	// Schema returns the OpenAPI schema of a kind, nil where there is none.
	Schema(ctx context.Context, kind object.Kind) (*spec.Schema, error)
	watchset.Watcher
}

// Goal is what is expected of an object.
type Goal struct {
	// For are the conditions to be met: all of them on one version of the object,
	// or with Any one.
	For []condition.Spec
	Any bool
	// FailOn are conditions any of which ends the wait.
	FailOn []condition.Spec
}

// Target is an object, or all that match, and what is expected of it. Targets
// with the same Goal share the pointer.
type Target struct {
	object.Selection
	// Kind as the cluster serves it. While it does not, Resource is empty, and the
	// cluster is asked for Type again and again.
	Kind object.Kind
	Type string
	Goal *Goal
	// Found: it is not that name which is meant, but an object that a selector found
	// under it. Once that is gone, no other is waited for.
	Found bool
}

// Engine waits. Source and Emit are needed; one Engine is for one run.
type Engine struct {
	Source Source
	// Timeout bounds the whole, as far as Limits say nothing else; 0 looks once, and less
	// than 0 is as long as it takes.
	Timeout time.Duration
	// Limits are times of their own that kinds and conditions have; nil if none has. Most
	// bounds those as well; 0 does not.
	Limits TimeLimits
	Most   time.Duration
	// Existence bounds how long an object, or its kind, may be absent where its
	// goal needs it there; nil is as long as Timeout, and then a selector that
	// matches nothing is an error.
	Existence *time.Duration
	// Objects asks for the objects that met their conditions, whole.
	Objects bool
	// Explain looks for the causes why objects make no progress, one explanation for each;
	// nil looks for none.
	Explain func(ctx context.Context, objects []Stalled) Explanations
	// Complains reports whether an object itself says that something is wrong, so that it
	// is worth asking why at once; nil is never.
	Complains func(*unstructured.Unstructured) bool
	// StuckAfter is how long nothing moves in an object before Explain is asked about it
	// while the wait goes on; 0 asks only when the wait ends.
	StuckAfter time.Duration
	// EndsFor returns how long a cause has to last before it ends the wait as failed; 0
	// means that it never does. nil is 0 for all.
	EndsFor func(event.Cause) time.Duration
	// Absent says why an object may not be there: its namespace is not, or its name is
	// almost that of another. A Ref without a name is for what a selector looks for. Empty
	// if nothing is known; nil knows nothing.
	Absent func(ctx context.Context, kind object.Kind, ref object.Ref) string
	// Emit is called for each event, one at a time.
	Emit func(event.Event)
}

// Stalled is an object that makes no progress, to be explained.
type Stalled struct {
	Ref object.Ref
	// Moved: something moved since it was asked last.
	Moved bool
	// Fresh: what was read for an earlier question will not do.
	Fresh bool
}

// Explanations are answers, in the order of the questions.
type Explanations struct {
	Causes [][]event.Cause
	// Requests are how many each of them took, Shared how many were for all of them, and
	// Again how many it takes to look at one of them again.
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
	it.live, it.whole, it.verdict = nil, nil, verdict{} // It may be one of very many.
}

// result is what became of the object.
func (it *item) result() event.Waited {
	w := event.Waited{
		Ref: it.ref, Action: it.action, Any: it.goal.Any, Conditions: it.verdict.conditions, Note: it.note,
	}
	if it.whole != nil && it.action == event.Met {
		w.Object = redact.Object(it.whole)
	}
	return w
}

// settled forgets why an object hung that has its result.
func (r *run) settled(it *item) {
	r.stalls.Drop(it)
	if it.action == event.Met {
		delete(r.hangs, it)
	}
}

// message is what a view's goroutine has to tell.
type message struct {
	view *view
	// change is what its watch tells; nil for the other messages.
	change object.Change
	// kind is served now, and compiled are its goals.
	kind     object.Kind
	compiled map[*Goal]*conditions
	// gone: the kind is not served, for the reason in err.
	gone bool
	// item is one of the view's, and why says why it may not be there.
	item *item
	why  string
	// explained is what came of asking why objects hang.
	explained *explained
	// late items were out of time, and causes say what holds each.
	late   []*item
	causes [][]event.Cause
	// err is the end of the view.
	err error
}

// explained is what came of asking about a batch.
type explained struct {
	items []*item
	// asked is when: the answer knows nothing of what moved later.
	asked time.Time
	Explanations
}

// group is goroutines that send messages until their context is done.
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
