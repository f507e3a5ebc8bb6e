// Package wait waits until objects meet their conditions, using one watch for each kind and
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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait/timelimit"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

// Source is the part of the API client that the engine needs. Its methods retry failed requests.
type Source interface {
	// Resource returns the kind for the text of a TYPE argument. If the server does not serve the
	// kind, meta.IsNoMatchError is true for the error.
	Resource(ctx context.Context, text string) (object.Kind, error)
	// Schema returns a kind's OpenAPI schema; nil if the server has none.
	Schema(ctx context.Context, kind object.Kind) (*spec.Schema, error)
	watchset.Watcher
}

// Goal is a set of conditions to wait for on an object.
type Goal struct {
	// For lists the conditions to meet. One version of the object has to meet all of them or, if
	// Any is set, one of them.
	For []condition.Spec
	Any bool
	// FailOn lists conditions that are signs of failure. The wait fails as soon as one of them is
	// met.
	FailOn []condition.Spec
}

// Target selects objects and specifies their goal. Targets with the same goal share the pointer.
type Target struct {
	object.Selection
	// Kind is the kind as the server describes it. If the server does not serve the kind yet,
	// Resource is empty, and the run looks up Type until it is served.
	Kind object.Kind
	Type string
	Goal *Goal
	// Found is set if a selector found the object. If the object is deleted, another object with
	// the same name does not replace it.
	Found bool
}

// Engine runs waits. Source and Emit are required.
type Engine struct {
	Source Source
	// WorthAcross reports whether one watch of a kind across all namespaces is less work than n
	// watches; nil means that it never is.
	WorthAcross func(ctx context.Context, kind object.Kind, n int) bool
	// Timeout limits the whole wait, unless Limits apply. If it is 0, the objects are evaluated
	// once. A negative value means no limit.
	Timeout time.Duration
	// Limits sets limits for individual kinds and conditions; it may be nil. If Most is not 0, it
	// bounds the whole wait, even if Limits extends the wait.
	Limits timelimit.Limits
	Most   time.Duration
	// Existence is how long a required object, or its kind, may be missing. If it is nil, Timeout
	// applies to missing objects, and a selector that matches nothing is an error.
	Existence *time.Duration
	// Objects adds the object itself to the result of each object that has met its conditions.
	Objects bool
	// Explain explains why objects make no progress; may be nil.
	Explain func(ctx context.Context, objects []Stalled) Explanations
	// Complains reports whether an object's status indicates a fault. Such an object is explained
	// early. Complains may be nil.
	Complains func(*unstructured.Unstructured) bool
	// StuckAfter is how long an object must have been stuck before it is explained. If it is 0,
	// objects are explained only at the end.
	StuckAfter time.Duration
	// EndsFor returns how long a cause must last before it fails the wait; 0 for never. It may be
	// nil.
	EndsFor func(event.Cause) time.Duration
	// Absent returns a possible reason why an object is missing: its namespace is missing, or its
	// name is similar to that of another object. It returns "" if it finds no reason. A Ref without
	// a name represents a selector that matches nothing. Absent may be nil.
	Absent func(ctx context.Context, kind object.Kind, ref object.Ref) string
	// Emit is called for one event at a time.
	Emit func(event.Event)
}

// Stalled is an object that makes no progress.
type Stalled struct {
	Ref object.Ref
	// Moved is set if the object has made progress since the last explanation.
	Moved bool
	// Fresh is set if facts from earlier explanations must not be reused.
	Fresh bool
}

// Explanations are the causes for each object, in the order of the objects.
type Explanations struct {
	Causes [][]event.Cause
	// Requests counts the requests sent for each object. Shared counts the requests that served all
	// objects. Again is the number of requests to expect if one object is explained again.
	Requests      []int
	Shared, Again int
}

func (g *Goal) waitsFor(kind condition.Kind) bool {
	return slices.ContainsFunc(g.For, func(s condition.Spec) bool { return s.Kind == kind })
}

func (r *run) end(it *item, action event.Action) {
	it.done, it.action = true, action
	r.stalls.Drop(it)
	if action == event.Met {
		delete(r.hangs, it)
	}
	r.pending--
	it.view.pending--
	delete(r.unreported, it)
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
	it.live, it.whole, it.verdict = nil, nil, verdict{} // Free memory: there may be very many items.
}

func (it *item) result() event.Waited {
	w := event.Waited{
		Ref: it.ref, Action: it.action, Any: it.goal.Any, Conditions: it.verdict.conditions, Note: it.note,
	}
	if it.whole != nil && it.action == event.Met {
		w.Object = redact.Object(it.whole)
	}
	return w
}

// message is a report to the run's goroutine from another one.
type message struct {
	view *view
	// change is set for a change that the view's watch reported.
	change object.Change
	// kind is set once the kind is served; compiled contains the goals compiled for it.
	kind     object.Kind
	compiled map[*Goal]*conditions
	// gone is set if the kind is not served; err is the reason.
	gone bool
	// item is a missing item of the view; why is a possible reason.
	item      *item
	why       string
	explained *explained
	late      []*item
	causes    [][]event.Cause
	err       error
}

type explained struct {
	items []*item
	// asked is when the batch began. If an object has made progress since, its causes are outdated.
	asked time.Time
	Explanations
}

// group runs goroutines that send messages to the run until the group's context ends.
type group struct {
	sync.WaitGroup
	report func(message)
}

func newGroup(ctx context.Context, to chan<- message) *group {
	return &group{report: func(m message) {
		select {
		case to <- m:
		case <-ctx.Done():
		}
	}}
}

func (g *group) start(watch func(report func(message))) { g.Go(func() { watch(g.report) }) }
