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

// Server is what the engine needs of a cluster. Its calls retry what may pass
// and keep the pace that the server allows; the engine only says what it wants.
type Server interface {
	predict.Server
	predict.Permissions
	object.LiveReader
	// Kind tells how the cluster serves a kind.
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	// Served waits until the cluster serves the kind; 0 is as long as it would wait for
	// the cluster itself.
	Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (object.Kind, error)
	// Established waits until a CRD is accepted, or tells why it will not be.
	Established(ctx context.Context, definition string) error
	// Unserved tells why the cluster does not serve a kind.
	Unserved(ctx context.Context, gvk schema.GroupVersionKind) error
	// ExplainRefusal names the webhook behind the refusal of an object of the kind, where
	// that is known.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
	// SetManagedFields replaces the managed fields of the object at that
	// resource version.
	SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error)
}

// Journal notes what a run writes. Its methods are called from many goroutines.
type Journal interface {
	// Wrote notes a write that was accepted, or may have been: before is the object as it
	// was looked at, nil where there was none, and after as the server answered, nil where
	// no answer came.
	Wrote(item plan.Item, before, after *unstructured.Unstructured)
	// Removed notes that the object was deleted to be created anew, or may have been.
	Removed(item plan.Item, before *unstructured.Unstructured)
}

// Engine carries out plans. Server and Emit are needed; one Engine is for one
// run.
type Engine struct {
	Server    Server
	Predictor predict.Predictor
	DryRun    object.DryRun
	// ContinueOnConflict goes on past objects in conflict: what does not need them is
	// written. Otherwise nothing is, from the first phase that has a conflict on.
	ContinueOnConflict bool
	// Decide is asked about objects in conflict, in the order of the plan, before anything of
	// them is written: those of a phase together, and again those that changed since. It
	// returns a decision for each conflict of each object. An object is applied once all of
	// its conflicts are decided; otherwise it stays in conflict. Nil leaves all of them.
	// Dry runs do not ask.
	Decide func(ctx context.Context, all []Contested) [][]Decision
	// Admit is asked about each object that exists, before anything is written of its
	// phase: an error refuses the object, and holds back its phase and those after it as
	// a conflict does. Nil admits all. It may be called side by side.
	Admit func(item plan.Item, live *unstructured.Unstructured) error
	// Objects asks for the objects themselves in the events.
	Objects bool
	// Namespace is what a kind that was not known when the plan was made needs to
	// settle its scope.
	Scope plan.Options
	// AwaitKinds is how long to wait for kinds that the cluster does not serve yet,
	// whatever the set says of them. 0 waits only for those that something in the set
	// may bring, and as long as for the cluster itself.
	AwaitKinds time.Duration
	// Wait waits until objects are ready that were applied, and returns an error if they do
	// not become so. It is called before each phase with what the phase needs, and at the
	// end with the rest. Nil does not wait.
	Wait func(ctx context.Context, applied []plan.Item) error
	// Remove deletes the object of the item that has the UID, and returns when it is gone,
	// or an error if that cannot be said. It is needed where the Predictor recreates.
	Remove func(ctx context.Context, item plan.Item, uid types.UID) error
	// Journal notes what is written; nil where it is not to be taken back.
	Journal Journal
	// Seen receives each object that was evaluated: how it is, nil where it is not there,
	// how it was or would be made, and whether that changes it. It may be called from many
	// goroutines; nil if it is not needed.
	Seen func(item plan.Item, before, after *unstructured.Unstructured, changes bool)
	// Prefetched reads for the phases, if that has begun before Run; Run closes it.
	Prefetched *prefetch.Reader
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	reads *prefetch.Reader // of the phases

	// looking: a phase is contested, so that nothing more is written. The rest is only inspected.
	looking bool

	// left: the run was interrupted while it asked for a decision, before it had written
	// anything more.
	left bool

	// done is what became of objects so far; waited are those that were waited for.
	done   record
	waited map[object.Key]bool

	mu sync.Mutex // of Emit
}

// wrote notes what came of a write of the target. A refused object was not written.
func (e *Engine) wrote(t *target, answer *unstructured.Unstructured, err error) {
	if err == nil {
		t.attempts.Wrote(answer)
	}
	switch {
	case e.Journal == nil:
	case err == nil:
		e.Journal.Wrote(t.Item, t.Live, answer)
	case mayBeWritten(err) && !apierrors.IsConflict(err): // Its conflicts are only inspected.
		e.Journal.Wrote(t.Item, t.Live, nil)
	}
}

// removed notes that the target was deleted, or may have been.
func (e *Engine) removed(t *target) {
	if e.Journal != nil {
		e.Journal.Removed(t.Item, t.Live)
	}
}

// target is one object that is still to be dealt with in this phase.
type target struct {
	predict.Prediction
	done bool
	// refusal is why taking all that is contested would not help.
	refusal error
	// anew is set if the object has to be deleted and created anew.
	anew *predict.Recreation
	// late: the write found it in conflict, which was not reported.
	late bool
	// undecided: the user was asked about its conflicts, and did not decide them.
	undecided bool
	// take and yield are what was decided of its conflicts in this run.
	take, yield []predict.Choice
	// attempts are those at its write; nil before the first.
	attempts *retry.Attempts
}

func (t *target) isDone() bool { return t.done }

func (t *target) contested() bool { return len(t.Conflicts) > 0 }

// guarded tells that the write holds only for the version that was read: it
// takes fields from others, and who they are must not have changed meanwhile.
func (t *target) guarded() bool { return len(t.Taken) > 0 || t.Adopts() }

// overtaken reports whether a write was refused because another writer came in after our look at
// the object.
func (t *target) overtaken(refusal error) bool {
	return predict.IsContested(refusal) || apierrors.IsConflict(refusal) && (t.Live == nil || t.guarded())
}
