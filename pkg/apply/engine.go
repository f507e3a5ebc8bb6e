// Package apply executes a plan phase by phase: it reads live objects, predicts, and writes only
// changes, with server-side apply. Start with [Engine.Run]. If an object of a phase is in conflict,
// it does not write that phase and only checks later ones. It does not read manifests, order
// objects or print.
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

// Server is the part of the API client that the engine needs. Its methods retry and limit their
// rate.
type Server interface {
	predict.Server
	predict.Permissions
	object.LiveReader
	// Kind returns how the cluster serves a kind.
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	// Served waits until the cluster serves the kind. If within is 0, it waits as long as it would
	// for an unreachable cluster.
	Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (object.Kind, error)
	// Established waits until a CRD is accepted, and returns an error if it is rejected.
	Established(ctx context.Context, definition string) error
	// Unserved returns why the cluster does not serve a kind.
	Unserved(ctx context.Context, gvk schema.GroupVersionKind) error
	// ExplainRefusal adds the webhook that refused an object of the kind to err, if it is known.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
	// SetManagedFields replaces the object's managed fields, if it still has live's resource
	// version.
	SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error)
}

// Journal records the writes of a run. Its methods are called concurrently.
type Journal interface {
	// Wrote records a write that was, or may have been, accepted. before is the object as read, nil
	// if it did not exist; after is the server's answer, nil if it did not answer.
	Wrote(item plan.Item, before, after *unstructured.Unstructured)
	// Removed records that the object was, or may have been, deleted in order to recreate it.
	Removed(item plan.Item, before *unstructured.Unstructured)
}

// Review is what a user has confirmed. Its methods are called concurrently.
type Review interface {
	// Judged returns the reviewed prediction if it is about this version of the object, which may
	// be nil. Otherwise it returns nil.
	Judged(item plan.Item, live *unstructured.Unstructured) *predict.Prediction
	// Confirms returns an error if the apply would have another result than the reviewed one.
	Confirms(p *predict.Prediction, anew *predict.Recreation) error
}

// Engine executes one plan. Server and Emit are required.
type Engine struct {
	Server    Server
	Predictor predict.Predictor
	DryRun    object.DryRun
	// ContinueOnConflict skips objects in conflict, and those that need them, and writes the rest.
	// Otherwise the first phase with a conflict and all later ones are not written.
	ContinueOnConflict bool
	// Decide returns a decision for each conflict of each object, in the order of the plan. It is
	// called before any of these objects is written: with all objects of a phase in conflict, and
	// again with those that have changed since. An object is applied once all its conflicts are
	// decided. Nil leaves all conflicts open. Dry runs do not call it.
	Decide func(ctx context.Context, all []Contested) [][]Decision
	// Review allows a write only to the reviewed version of an object, or if its result is the
	// same. Nil allows all.
	Review Review
	// Admit is called for each existing object before its phase is written. An error refuses the
	// object, and blocks its phase and later ones like a conflict. Nil admits all. It is called
	// concurrently.
	Admit func(item plan.Item, live *unstructured.Unstructured) error
	// Objects adds the objects themselves to the events.
	Objects bool
	// Scope determines the namespace of an object whose kind was unknown when the plan was made.
	Scope plan.Options
	// AwaitKinds is how long to wait for kinds that the cluster does not serve yet. If it is 0, the
	// run waits only for kinds that an object of the set may install, as long as for an unreachable
	// cluster.
	AwaitKinds time.Duration
	// Wait waits until the applied objects are ready, or returns an error. It is called before each
	// phase with the objects which that phase needs, and at the end with the rest. Nil does not
	// wait.
	Wait func(ctx context.Context, applied []plan.Item) error
	// Remove deletes the object with that UID and returns once it is gone, or an error if that is
	// unknown. stays, which may be nil, returns why the current object must not be deleted, or "".
	// Required if the Predictor recreates objects.
	Remove func(ctx context.Context, kind object.Kind, ref object.Ref, uid types.UID, stays func(*unstructured.Unstructured) string) error
	// Journal records the writes for a rollback; it may be nil.
	Journal Journal
	// Seen is called with each evaluated object: the live one, nil if it does not exist; the
	// written or predicted one; and whether they differ. It is called concurrently and may be nil.
	Seen func(item plan.Item, before, after *unstructured.Unstructured, changes bool)
	// Prefetched is a reader that was started before Run, which closes it. It may be nil.
	Prefetched *prefetch.Reader
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	reads *prefetch.Reader // of the phases

	// looking is set once a phase is in conflict: later phases are inspected but not written.
	looking bool

	// left is set if the run was interrupted at a prompt and has written nothing since.
	left bool

	// done records the result of each object; waited has the objects that were waited for.
	done   record
	waited map[object.Key]bool

	mu sync.Mutex // of Emit
}

// wrote tells the journal about a write that was not refused.
func (e *Engine) wrote(t *target, answer *unstructured.Unstructured, err error) {
	if err == nil {
		t.attempts.Wrote(answer)
	}
	switch {
	case e.Journal == nil:
	case err == nil:
		e.Journal.Wrote(t.Item, t.Live, answer)
	case object.MayBeWritten(err) && !apierrors.IsConflict(err): // A conflict wrote nothing.
		e.Journal.Wrote(t.Item, t.Live, nil)
	}
}

// target is an object of the current phase that needs a write or a dry run.
type target struct {
	predict.Prediction
	done bool
	// refusal is why taking all conflicts would not help.
	refusal error
	// anew is set if the object must be recreated.
	anew *predict.Recreation
	// late means that the write had a conflict that has not been reported.
	late bool
	// undecided means that the user was asked about the conflicts and left them open.
	undecided bool
	// take and yield are the user's decisions about its conflicts.
	take, yield []predict.Choice
	// attempts counts its writes; nil before the first.
	attempts *retry.Attempts
	// bound means that a write is only for the version that was read; reviewed, that the prediction
	// is the reviewed one, so that no dry run is needed. ours is the version that our own write
	// made.
	bound, reviewed bool
	ours            string
}

func (t *target) isDone() bool { return t.done }

func (t *target) contested() bool { return len(t.Conflicts) > 0 }

// applied returns the event for the end of a target.
func (t *target) applied(action event.Action) event.Applied {
	return event.Applied{Ref: t.Item.Ref, Source: t.Item.Source, Action: action, Yielded: t.Yielded, Left: t.Left}
}

// overtaken reports whether a write was refused because another client wrote the object after we
// read it. A write is bound to the version that was read if it was reviewed, or if it takes fields.
func (t *target) overtaken(refusal error) bool {
	return predict.IsContested(refusal) || apierrors.IsConflict(refusal) && (t.Live == nil || t.bound || len(t.Taken) > 0 || t.Adopts())
}
