package locking

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/lock"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Server is what locking needs of a cluster.
type Server interface {
	Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error)
	Create(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
	Merge(ctx context.Context, kind object.Kind, patch *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, kind object.Kind, ref object.Ref, how object.Deletion) (*unstructured.Unstructured, error)
}

// Reader is what it takes to look at a lock.
type Reader interface {
	Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error)
}

// Annotations of a Lease.
const (
	// RunAnnotation is the id of the run that has the lock, or had it last.
	RunAnnotation = "k8sconnect.io/run"
	// WhoAnnotation is who that run was, and ResultAnnotation how it ended, for people and
	// for sets: running until it has.
	WhoAnnotation    = "k8sconnect.io/who"
	ResultAnnotation = "k8sconnect.io/result"
	// StatedAnnotation is the run that stated something last: see [history.Note].
	// TurnAnnotation is whose turn that was written in, by the transitions of the Lease.
	StatedAnnotation = "k8sconnect.io/stated"
	TurnAnnotation   = "k8sconnect.io/stated-in"
	// SetAnnotation is the parent of the set, for people.
	SetAnnotation = "k8sconnect.io/apply-set"
)

// manager is the field manager of Leases and Events.
const manager = "k8sconnect-lock"

// LeaseKind is how every server serves Leases.
func LeaseKind() object.Kind {
	return object.Kind{
		GVK:      schema.GroupVersionKind{Group: coordinationv1.GroupName, Version: "v1", Kind: "Lease"},
		Resource: "leases", Namespaced: true,
	}
}

// fixed is where the Leases of sets are whose parent is in no namespace.
const fixed = "default"

// LeaseOf returns the Lease that locks the set with this parent.
func LeaseOf(parent object.Ref) object.Ref {
	ref := object.Ref{GVK: LeaseKind().GVK, Namespace: parent.Namespace, Name: applyset.LeaseName(parent)}
	if ref.Namespace == "" {
		ref.Namespace = fixed
	}
	return ref
}

// RecordOf reads a Lease.
func RecordOf(live *unstructured.Unstructured) (lock.Record, error) {
	var lease coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &lease); err != nil {
		return lock.Record{}, err
	}
	r := lock.Record{Version: live.GetResourceVersion(), Run: live.GetAnnotations()[RunAnnotation]}
	spec := lease.Spec
	if spec.HolderIdentity != nil {
		r.Holder = *spec.HolderIdentity
	}
	if spec.LeaseDurationSeconds != nil {
		r.Duration = time.Duration(*spec.LeaseDurationSeconds) * time.Second
	}
	if spec.LeaseTransitions != nil {
		r.Transitions = int(*spec.LeaseTransitions)
	}
	r.Acquired, r.Renewed = timeOf(spec.AcquireTime), timeOf(spec.RenewTime)
	return r, nil
}

func timeOf(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
