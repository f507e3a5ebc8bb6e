// Package apply executes a plan phase by phase. It reads live objects, predicts each apply, and
// writes only changes, with server-side apply. Start with [Engine.Run]. If an object of a phase is
// in conflict, that phase and all later ones are only checked, not written. The package does not
// read manifests, order objects or print.
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
	// Served waits until the cluster serves the kind. If within is 0, the limit is the same as for
	// an unreachable cluster.
	Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (object.Kind, error)
	// Established waits until a CRD is accepted, and returns an error if it is rejected.
	Established(ctx context.Context, definition string) error
	// Unserved returns why the cluster does not serve a kind.
	Unserved(ctx context.Context, gvk schema.GroupVersionKind) error
	// ExplainRefusal adds to err the name of the webhook that refused an object of the kind, if it
	// is known.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
	// SetManagedFields replaces the object's managed fields. It fails if the object no longer has
	// live's resource version.
	SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error)
}

// Journal records the writes of a run. Its methods are called concurrently.
type Journal interface {
	// Wrote records a write that the server accepted, or may have accepted. before is the object as
	// read; nil if it did not exist. after is the server's answer; nil if there was none.
	Wrote(item plan.Item, before, after *unstructured.Unstructured)
	// Removed records that the object was, or may have been, deleted in order to recreate it.
	Removed(item plan.Item, before *unstructured.Unstructured)
}

// Review is what a user has confirmed. Its methods are called concurrently.
type Review interface {
	// Judged returns the reviewed prediction for this version of the object, or nil if another
	// version was reviewed. live is nil if the object does not exist.
	Judged(item plan.Item, live *unstructured.Unstructured) *predict.Prediction
	// Confirms returns an error if the apply would have another result than the reviewed one.
	Confirms(p *predict.Prediction, anew *predict.Recreation) error
}

// Engine executes one plan. Server and Emit are required.
type Engine struct {
	Server    Server
	Predictor predict.Predictor
	DryRun    object.DryRun
	// ContinueOnConflict writes the rest of a phase if some objects are in conflict. It skips the
	// objects in conflict and the objects that need them. If it is not set, the first phase with a
	// conflict and all later ones are not written.
	ContinueOnConflict bool
	// Decide returns a decision for each conflict of each object, in the order of the plan. It is
	// called with all conflicting objects of a phase, before any of these objects is written. It is
	// called again with those objects that have changed since. An object is applied once all its
	// conflicts are decided. If Decide is nil, all conflicts stay open. Dry runs do not call it.
	Decide func(ctx context.Context, all []Contested) [][]Decision
	// Review limits writes to what a user has reviewed: the reviewed version of an object, or
	// another version if the result is the same. If Review is nil, all writes are allowed.
	Review Review
	// Admit is called for each existing object before its phase is written. If it returns an error,
	// the object fails, and its phase and later phases are not written, as after a conflict. If
	// Admit is nil, all objects are admitted. Calls may be concurrent.
	Admit func(item plan.Item, live *unstructured.Unstructured) error
	// Objects adds the objects themselves to the events.
	Objects bool
	// Scope determines the namespace of an object whose kind was unknown when the plan was made.
	Scope plan.Options
	// AwaitKinds is how long to wait for kinds that the cluster does not serve yet. If it is 0, the
	// run waits only for kinds that an object of the set may install. The limit is then the same as
	// for an unreachable cluster.
	AwaitKinds time.Duration
	// Wait waits until the given objects are ready, or returns an error. Before each phase, it is
	// called with the applied objects that the phase needs, and at the end with all the rest. If
	// Wait is nil, the run does not wait.
	Wait func(ctx context.Context, applied []plan.Item) error
	// Remove deletes the object with the UID and returns once it is gone. It returns an error if it
	// is unknown whether the object is gone. stays returns a reason why the current object must not
	// be deleted, or "" if it may be deleted; stays may be nil. Remove is required if the Predictor
	// recreates objects.
	Remove func(ctx context.Context, kind object.Kind, ref object.Ref, uid types.UID, stays func(*unstructured.Unstructured) string) error
	// Journal records the writes for a rollback; it may be nil.
	Journal Journal
	// Seen is called with each evaluated object. before is the live object; nil if it does not
	// exist. after is the written or predicted object, and changes reports whether the two differ.
	// Calls may be concurrent. Seen may be nil.
	Seen func(item plan.Item, before, after *unstructured.Unstructured, changes bool)
	// Prefetched is a reader that was started before Run. Run closes it. It may be nil.
	Prefetched *prefetch.Reader
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	reads *prefetch.Reader // reads the live objects of each phase

	// looking is set once a phase is in conflict. Later phases are then checked but not written.
	looking bool

	// left is set if the run was interrupted at a prompt and has written nothing since.
	left bool

	// done records the result of each object. waited has the objects that were passed to Wait.
	done   record
	waited map[object.Key]bool

	mu sync.Mutex // guards calls of Emit
}

// wrote adds a write to the journal, unless the server refused it.
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
	// refusal is the reason why taking all conflicts would not help.
	refusal error
	// anew is set if the object must be recreated.
	anew *predict.Recreation
	// late means that the write had a conflict, which no event has reported yet.
	late bool
	// undecided means that the user was asked about the conflicts and left them open.
	undecided bool
	// take and yield are the user's decisions about the target's conflicts.
	take, yield []predict.Choice
	// attempts counts the writes of the target; nil before the first write.
	attempts *retry.Attempts
	// bound means that a write is valid only for the version that was read. reviewed means that the
	// prediction comes from the review, so that no dry run is needed. ours is the resource version
	// after our own first write.
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
// read it. This can happen only to writes that are bound to a version: after a review, or if they
// take fields.
func (t *target) overtaken(refusal error) bool {
	return predict.IsContested(refusal) || apierrors.IsConflict(refusal) && (t.Live == nil || t.bound || len(t.Taken) > 0 || t.Adopts())
}
