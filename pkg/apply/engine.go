// Package apply executes a plan phase by phase: it reads live objects, predicts each apply, and
// writes only changes. Start with [Engine.Run]. A conflict in a phase stops the writes of that
// phase and of later phases. The package does not read manifests, order objects or print.
package apply

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Server is the part of the API client that the engine needs. Its methods retry and limit their
// rate.
type Server interface {
	predict.Server
	predict.Permissions
	object.LiveReader
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	// Served waits until the cluster serves the kind. The parameter within limits the wait; if it
	// is 0, the limit is the same as for an unreachable cluster.
	Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (object.Kind, error)
	// Established waits until a CRD is accepted, and returns an error if it is rejected.
	Established(ctx context.Context, definition string) error
	Unserved(ctx context.Context, gvk schema.GroupVersionKind) error
	// ExplainRefusal adds to err the name of the webhook that refused the object, if it is known.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
	// SetManagedFields replaces the managed fields of the object. It fails if the object no longer
	// has the resource version of live.
	SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error)
}

// Journal records the writes of a run. Its methods are called concurrently.
type Journal interface {
	// OnWritten records a write that the server accepted, or may have accepted. before is nil for a new
	// object; after is nil if the server did not answer.
	OnWritten(item plan.Item, before, after *unstructured.Unstructured)
	Removed(item plan.Item, before *unstructured.Unstructured)
}

// Review represents the changes that a user has confirmed. Its methods are called concurrently.
type Review interface {
	// Judged returns the reviewed prediction for this version of the object; nil if another version
	// was reviewed.
	Judged(item plan.Item, live *unstructured.Unstructured) *predict.Prediction
	// Confirms returns an error if the result of the apply would differ from the reviewed one.
	Confirms(p *predict.Prediction, anew *predict.Recreation) error
	// Written returns an error if the object that the server has stored (answer) differs from the
	// reviewed result.
	Written(p *predict.Prediction, answer *unstructured.Unstructured) error
}

// Engine executes one plan. Server and Emit are required.
type Engine struct {
	Server    Server
	Predictor predict.Predictor
	DryRun    object.DryRun
	// ContinueOnConflict means that a phase is written even if some of its objects are in conflict.
	// Objects that need one of those are skipped.
	ContinueOnConflict bool
	// Decide returns a decision for each conflict of each object, in plan order. It is called
	// before any conflicting object of a phase is written, and again for objects that have changed
	// since. If Decide is nil, all conflicts stay open. Dry runs do not call it.
	Decide func(ctx context.Context, all []Contested) [][]Decision
	// Review limits writes to what a user has reviewed; nil allows all writes.
	Review Review
	// Admit may return an error to refuse an existing object. In that case, neither the object's
	// phase nor any later phase is written. Calls may be concurrent. Admit may be nil.
	Admit   func(item plan.Item, live *unstructured.Unstructured) error
	Objects bool
	Scope   plan.Options
	// AwaitKinds is the time to wait for kinds that are not served yet. If it is 0, the run waits
	// only for kinds that an object of the set may install.
	AwaitKinds time.Duration
	// Wait waits until the given objects are ready. It is called before each phase with the applied
	// objects that the phase needs, and at the end with all other applied objects. It may be nil.
	Wait func(ctx context.Context, applied []plan.Item) error
	// Remove deletes the object if it has this UID, and returns once the object is gone. Before the
	// deletion, it passes the current object to the callback (stays); if the callback returns a
	// reason, the object must not be deleted. The callback may be nil. Remove is required if the
	// Predictor recreates objects.
	Remove func(ctx context.Context, kind object.Kind, ref object.Ref, uid types.UID, stays func(*unstructured.Unstructured) string) error
	// Journal records the writes for a rollback; it may be nil.
	Journal Journal
	// OnPhase is called before a phase is written, or tried, with the predictions for its existing
	// objects. It may be nil.
	OnPhase func([]*predict.Prediction)
	// OnRead is called with each evaluated object. before is nil for a new object; after is the
	// written or predicted object. Calls may be concurrent. Seen may be nil.
	OnRead func(item plan.Item, before, after *unstructured.Unstructured, changes bool)
	// Prefetched is a reader that was started before Run, or nil. Run closes it.
	Prefetched *prefetch.Reader
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	reads *prefetch.Reader

	// looking is set after a conflict or a refusal by Admit: later phases are then checked but not
	// written.
	looking bool

	// left is set if the run was interrupted at a prompt and has written nothing since.
	left bool

	done   record
	waited map[object.Key]bool

	mu sync.Mutex // guards calls to Emit
}

func (e *Engine) wrote(t *target, answer *unstructured.Unstructured, err error) {
	if err == nil {
		t.attempts.OnWritten(answer)
	}
	switch {
	case e.Journal == nil:
	case err == nil:
		e.Journal.OnWritten(t.Item, t.Live, answer)
	case object.MayBeWritten(err) && !apierrors.IsConflict(err):
		e.Journal.OnWritten(t.Item, t.Live, nil)
	}
}

type target struct {
	predict.Prediction
	done    bool
	refusal error
	anew    *predict.Recreation
	// late means that the write's conflict has not been reported as an event yet.
	late bool
	// undecided means that the user left the conflicts open.
	undecided   bool
	take, yield []predict.Choice
	// attempts is nil before the first write.
	attempts *retry.Attempts
	// bound means that a write is valid only for the version that was read. reviewed means that no
	// dry run is needed. ours is the resource version after our first write.
	bound, reviewed bool
	ours            string
	// reached means that another client has made the reviewed change, so that this run writes nothing.
	reached bool
	// moved lists the managers whose fields this run has already made ours.
	moved []string
	// borrowed lists the adoptions by which this run has made surplus fields ours.
	borrowed []adopt.Adoption
}

func (t *target) isDone() bool { return t.done }

func (t *target) contested() bool { return len(t.Conflicts) > 0 }

func (t *target) applied(action event.Action) event.Applied {
	return event.Applied{Ref: t.Item.Ref, Source: t.Item.Source, Action: action, Yielded: t.Yielded, Left: t.Left}
}

// overtaken reports whether another client wrote the object after we read it. Only writes bound to
// a version can detect this.
func (t *target) overtaken(refusal error) bool {
	return predict.IsContested(refusal) || apierrors.IsConflict(refusal) && (t.Live == nil || t.bound || len(t.Taken) > 0 || t.Adopts())
}
