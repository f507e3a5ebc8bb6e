package setrun

import (
	"cmp"
	"context"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// LeaseServer is the part of the API client that the lock needs.
type LeaseServer interface {
	object.Getter
	object.Deleter
	Create(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
	Merge(ctx context.Context, kind object.Kind, patch *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
}

// These are the annotations of a Lease.
const (
	// RunAnnotation is the ID of the run that holds, or last held, the lock.
	RunAnnotation = "k8sconnect.io/run"
	// ResultAnnotation is the result of the run, or "running" while it runs.
	WhoAnnotation    = "k8sconnect.io/who"
	ResultAnnotation = "k8sconnect.io/result"
	// LastRunAnnotation describes the last run that applied something: see [history.Note].
	// TurnAnnotation is the Lease's leaseTransitions at the time when LastRunAnnotation was last
	// known to be current.
	LastRunAnnotation = "k8sconnect.io/stated"
	TurnAnnotation    = "k8sconnect.io/stated-in"
	// SetAnnotation names the parent of the set. It is only for people to read.
	SetAnnotation = "k8sconnect.io/apply-set"
)

// manager is the field manager of Leases and Events.
const manager = "k8sconnect-lock"

// LeaseKind returns the kind Lease, which every server serves.
func LeaseKind() object.Kind {
	return object.Kind{
		GVK:      schema.GroupVersionKind{Group: coordinationv1.GroupName, Version: "v1", Kind: "Lease"},
		Resource: "leases", Namespaced: true,
	}
}

// fixed is the namespace of Leases for sets whose parent has none.
const fixed = "default"

// LeaseOf returns the Lease that locks the set with this parent.
func LeaseOf(parent object.Ref) object.Ref {
	ref := object.Ref{GVK: LeaseKind().GVK, Namespace: parent.Namespace, Name: applyset.LeaseName(parent)}
	if ref.Namespace == "" {
		ref.Namespace = fixed
	}
	return ref
}

func recordOf(live *unstructured.Unstructured) (resourcelock.LeaderElectionRecord, error) {
	var lease coordinationv1.Lease
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &lease)
	return *resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec), err
}

// Get implements resourcelock.Interface. It ends the election when the time to wait has passed.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel, server := l.nextAttempt(ctx)
	defer cancel()
	live, err := server.Get(ctx, LeaseKind(), l.ref)
	l.mu.Lock()
	defer l.mu.Unlock()
	held := !l.granted.IsZero()
	if apierrors.IsNotFound(err) {
		if held {
			l.loses(&LostError{why: "its Lease was deleted"})
		}
		return nil, nil, err
	}
	var lease resourcelock.LeaderElectionRecord
	if err == nil {
		lease, err = recordOf(live)
	}
	if err != nil {
		return nil, nil, l.failed(err)
	}
	if version := live.GetResourceVersion(); version != l.version {
		l.version, l.since = version, time.Now()
	}
	l.lease = lease
	if notes := live.GetAnnotations(); l.note == "" {
		l.was, l.sure = notes[LastRunAnnotation], notes[TurnAnnotation] == strconv.Itoa(lease.LeaderTransitions)
	}
	switch {
	case lease.HolderIdentity == l.holder:
	case held && lease.HolderIdentity == "":
		l.loses(&LostError{why: "another run took it over and has finished"})
	case held:
		l.loses(&LostError{why: lease.HolderIdentity + " took it over", by: lease.HolderIdentity})
	case lease.HolderIdentity != "":
		l.inTheWay(live.GetAnnotations()[RunAnnotation])
	}
	return &lease, []byte(l.version), nil
}

// inTheWay reports which run holds the lock, and ends the election when the time to wait has
// passed. The election itself replaces a holder whose Lease expired.
func (l *Lock) inTheWay(run string) {
	held := &HeldError{
		Holder: l.lease.HolderIdentity, Run: run, Since: l.lease.AcquireTime.Time, Waited: time.Since(l.began),
		valid: time.Duration(l.lease.LeaseDurationSeconds) * time.Second,
	}
	held.left = held.valid - time.Since(l.since)
	switch {
	case held.left <= 0:
	case held.Waited >= l.within:
		l.end(held)
	case held.Holder != l.reported && l.report != nil:
		l.reported = held.Holder
		l.report(held)
	}
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, lease resourcelock.LeaderElectionRecord) error {
	ctx, cancel, server := l.nextAttempt(ctx)
	defer cancel()
	l.version = ""
	return l.write(ctx, lease, server.Create)
}

// Update implements resourcelock.Interface. It skips renewals that are not due yet, because the
// election tries to renew at each poll.
func (l *Lock) Update(ctx context.Context, lease resourcelock.LeaderElectionRecord) error {
	if l.Held() && l.age() < renewal {
		return nil
	}
	ctx, cancel, server := l.nextAttempt(ctx)
	defer cancel()
	return l.write(ctx, lease, server.Merge)
}

func (l *Lock) write(
	ctx context.Context, lease resourcelock.LeaderElectionRecord,
	send func(context.Context, object.Kind, *unstructured.Unstructured, object.Write) (*unstructured.Unstructured, error),
) error {
	sent := time.Now()
	live, err := send(transport.Unguarded(ctx), LeaseKind(), l.object(lease), object.Write{Manager: manager})
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), l.version != "" && apierrors.IsNotFound(err):
		return err // The election reads the Lease again: it may be ours, if a response was lost.
	case err != nil:
		return l.failed(err)
	}
	l.lease, l.version, l.granted = lease, live.GetResourceVersion(), sent
	l.wake()
	return nil
}

func (l *Lock) nextAttempt(ctx context.Context) (context.Context, context.CancelFunc, LeaseServer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.granted.IsZero() {
		return ctx, func() {}, l.server // Before the lock is held, requests are retried as in the rest of the run.
	}
	ctx, cancel := context.WithTimeout(ctx, attempt)
	return ctx, cancel, l.server
}

// failed ends the election if the lock is not held yet, or if the Lease has not been renewed for
// too long.
func (l *Lock) failed(err error) error {
	switch {
	case l.granted.IsZero():
		l.end(err)
	case l.age() >= outage:
		l.loses(&LostError{why: "its Lease could not be renewed for " + l.age().Round(time.Second).String(), err: err})
	}
	return err
}

// Identity returns the holder's identity.
func (l *Lock) Identity() string { return l.holder }

// Describe returns the parent of the set.
func (l *Lock) Describe() string { return l.set }

// RecordEvent does nothing, because the run's own Events say more.
func (l *Lock) RecordEvent(string) {}

// object returns the Lease to write. A run that applied nothing keeps the note about the last run,
// if that note is current.
func (l *Lock) object(lease resourcelock.LeaderElectionRecord) *unstructured.Unstructured {
	l.mu.Lock()
	defer l.mu.Unlock()
	spec := resourcelock.LeaderElectionRecordToLeaseSpec(&lease)
	fields, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec) // Converting an API type cannot fail.
	notes := map[string]string{RunAnnotation: l.run, SetAnnotation: l.set, ResultAnnotation: string(history.Running), WhoAnnotation: l.who}
	free := lease.HolderIdentity == ""
	if free { // The patch keeps the name of the former holder.
		delete(notes, WhoAnnotation)
		notes[ResultAnnotation] = string(cmp.Or(l.result, history.Failed))
	}
	if l.note != "" {
		notes[LastRunAnnotation] = l.note
	}
	if l.note != "" || free && l.sure {
		notes[TurnAnnotation] = strconv.Itoa(lease.LeaderTransitions)
	}
	u := l.patch(notes)
	u.Object["spec"] = fields
	u.SetResourceVersion(l.version)
	return u
}

func (l *Lock) patch(notes map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(l.ref.GVK)
	u.SetNamespace(l.ref.Namespace)
	u.SetName(l.ref.Name)
	u.SetAnnotations(notes)
	return u
}

// Last implements [History].
func (l *Lock) Last() (run history.Run, sure bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run, err = history.ReadNote(l.was)
	return run, l.sure, err
}

// Note implements [History].
func (l *Lock) Note(run history.Run) {
	note, err := history.Note(run)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = note
}

// NoteNow implements [History]. It sends its request only while the lock is held.
func (l *Lock) NoteNow(ctx context.Context, run history.Run) error {
	l.Note(run)
	l.mu.Lock()
	u := l.patch(map[string]string{LastRunAnnotation: l.note, TurnAnnotation: strconv.Itoa(l.lease.LeaderTransitions)})
	l.mu.Unlock()
	_, err := l.first.Merge(ctx, LeaseKind(), u, object.Write{Manager: manager})
	return err
}
