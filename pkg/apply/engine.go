// Package apply carries out a plan, phase by phase: it reads live objects, predicts, and writes
// only changes, with server-side apply. Start with [Engine.Run]. A phase with a conflict writes
// nothing, and later phases are only checked. It does not read manifests, order objects or print.
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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Server is the part of the API client that the engine needs. Its calls retry and limit their own
// rate.
type Server interface {
	predict.Server
	predict.Permissions
	object.LiveReader
	// Kind returns how the cluster serves a kind.
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	// Served waits until the cluster serves the kind. With 0, it waits as long as it would for the
	// cluster itself.
	Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (object.Kind, error)
	// Established waits until a CRD is accepted, and returns an error if it is rejected.
	Established(ctx context.Context, definition string) error
	// Unserved returns why the cluster does not serve a kind.
	Unserved(ctx context.Context, gvk schema.GroupVersionKind) error
	// ExplainRefusal names the webhook that refused an object of the kind, if that is known.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
	// SetManagedFields replaces the managed fields of the object, which must still have the
	// resource version of live.
	SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error)
}

// Journal records the writes of a run. Its methods are called from many goroutines.
type Journal interface {
	// Wrote records a write that was, or may have been, accepted. before is the object as read, nil
	// if it did not exist; after is the server's answer, nil if none came.
	Wrote(item plan.Item, before, after *unstructured.Unstructured)
	// Removed records that the object was, or may have been, deleted to be recreated.
	Removed(item plan.Item, before *unstructured.Unstructured)
}

// Review is what a user has confirmed. Its methods are called from many goroutines.
type Review interface {
	// Judged returns the prediction that was reviewed, if it is about this version of the object;
	// a nil live object is a version, too. Otherwise it returns nil.
	Judged(item plan.Item, live *unstructured.Unstructured) *predict.Prediction
	// Confirms returns an error if an apply would make something else of an object than was
	// reviewed.
	Confirms(p *predict.Prediction, anew *predict.Recreation) error
}

// Engine carries out plans. Server and Emit are needed; one Engine is for one
// run.
type Engine struct {
	Server    Server
	Predictor predict.Predictor
	DryRun    object.DryRun
	// ContinueOnConflict skips objects in conflict, and what needs them, and writes the rest.
	// Without it, nothing is written from the first phase with a conflict on.
	ContinueOnConflict bool
	// Decide returns a decision for each conflict of each object, in the order of the plan. It is
	// called before any of these objects is written: with those of one phase together, and again
	// with those that changed since. An object is applied once all its conflicts are decided. Nil
	// leaves all conflicts open. Dry runs do not call it.
	Decide func(ctx context.Context, all []Contested) [][]Decision
	// Review binds each write: it is sent only to the reviewed version, or if its outcome is the
	// same. Nil reviews nothing.
	Review Review
	// Admit is asked about each object that exists, before anything is written of its
	// phase: an error refuses the object, and holds back its phase and those after it as
	// a conflict does. Nil admits all. It may be called side by side.
	Admit func(item plan.Item, live *unstructured.Unstructured) error
	// Objects adds the objects themselves to the events.
	Objects bool
	// Scope decides the namespace of a kind that was unknown when the plan was made.
	Scope plan.Options
	// AwaitKinds is how long to wait for kinds that the cluster does not serve yet. With 0, the run
	// waits only for kinds that an object of the set may install, as long as for the cluster
	// itself.
	AwaitKinds time.Duration
	// Wait waits until the applied objects are ready and returns an error if they do not become
	// ready. It is called before each phase with what that phase needs, and at the end with the
	// rest. Nil does not wait.
	Wait func(ctx context.Context, applied []plan.Item) error
	// Remove deletes the object with that UID and returns once it is gone, or an error if that is
	// unknown. stays returns why the object is to be left alone as it is by then, or is nil. The
	// engine needs it if the Predictor recreates objects.
	Remove func(ctx context.Context, kind object.Kind, ref object.Ref, uid types.UID, stays func(*unstructured.Unstructured) string) error
	// Journal records the writes; nil if they are not to be rolled back.
	Journal Journal
	// Seen receives each object that was evaluated: as it is (nil if it does not exist), as it was
	// or would be written, and whether that changes it. It is called concurrently and may be nil.
	Seen func(item plan.Item, before, after *unstructured.Unstructured, changes bool)
	// Prefetched is a reader that was started before Run; Run closes it.
	Prefetched *prefetch.Reader
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	reads *prefetch.Reader // of the phases

	// looking is set once a phase is in conflict: the rest is inspected and not written.
	looking bool

	// left is set if the run was interrupted at a prompt, before it had written anything more.
	left bool

	// done records what became of objects; waited holds those that were waited for.
	done   record
	waited map[object.Key]bool

	mu sync.Mutex // of Emit
}

// wrote tells the journal about a write of the target that was not refused.
func (e *Engine) wrote(t *target, answer *unstructured.Unstructured, err error) {
	if err == nil {
		t.attempts.Wrote(answer)
	}
	switch {
	case e.Journal == nil:
	case err == nil:
		e.Journal.Wrote(t.Item, t.Live, answer)
	case object.MayBeWritten(err) && !apierrors.IsConflict(err): // Its conflicts are only inspected.
		e.Journal.Wrote(t.Item, t.Live, nil)
	}
}

// removed tells the journal that the target was, or may have been, deleted.
func (e *Engine) removed(t *target) {
	if e.Journal != nil {
		e.Journal.Removed(t.Item, t.Live)
	}
}

// target is an object of this phase that needs a write or a question.
type target struct {
	predict.Prediction
	done bool
	// refusal is why taking all conflicts would not help.
	refusal error
	// anew is set if the object has to be recreated.
	anew *predict.Recreation
	// late: the write met a conflict that has not been reported.
	late bool
	// undecided: the user was asked about the conflicts and left them open.
	undecided bool
	// take and yield are the decisions of this run about its conflicts.
	take, yield []predict.Choice
	// attempts counts its writes; nil before the first.
	attempts *retry.Attempts
	// bound: each write holds only for the version that was read. reviewed: the prediction is the
	// reviewed one, and nothing has to be asked. ours is the version that our own write made.
	bound, reviewed bool
	ours            string
}

func (t *target) isDone() bool { return t.done }

func (t *target) contested() bool { return len(t.Conflicts) > 0 }

// guarded tells that the write holds only for the version that was read: it was reviewed, or it
// takes fields from others, and who they are must not have changed meanwhile.
func (t *target) guarded() bool { return t.bound || len(t.Taken) > 0 || t.Adopts() }

// overtaken reports whether a write was refused because another client wrote the object after we
// read it.
func (t *target) overtaken(refusal error) bool {
	return predict.IsContested(refusal) || apierrors.IsConflict(refusal) && (t.Live == nil || t.guarded())
}
