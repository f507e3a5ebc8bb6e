package diagnose

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Reader reads the cluster. A failed read is itself a fact, which the error describes. It
// has to be safe for concurrent use.
//
// A forbidden error (apierrors) makes a fact unknown. An error for which
// [meta.IsNoMatchError] holds says that the server does not serve the kind.
type Reader interface {
	// Get reads one object; nil, nil if it does not exist.
	Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
	// Exists reports whether an object exists, without reading its contents.
	Exists(ctx context.Context, ref object.Ref) (bool, error)
	// Select calls visit for each selected object of a kind, one after the other.
	// fields is a field selector as kubectl takes it; empty for all.
	Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error
	// Metadata returns only the metadata of the selected objects.
	Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error)
	// Kinds returns all kinds that the server serves and that can be listed, each at one
	// version. Kinds of an aggregated API whose server is down are missing.
	Kinds(ctx context.Context) ([]object.Kind, error)
	// DryRunRemoveFinalizer replays the update that removes one finalizer, as a dry
	// run, and returns the server's refusal.
	DryRunRemoveFinalizer(ctx context.Context, ref object.Ref, live *unstructured.Unstructured, finalizer string) error
	// Allowed reports whether a user may use the verb on the object. An empty user means
	// us.
	Allowed(ctx context.Context, user, verb string, ref object.Ref) (bool, error)
}

// ExclusiveMode returns the access mode of a claim if it is for one node or one Pod, and ""
// otherwise.
func ExclusiveMode(claim *corev1.PersistentVolumeClaim) corev1.PersistentVolumeAccessMode {
	for _, mode := range claim.Spec.AccessModes {
		if mode != corev1.ReadWriteOnce && mode != corev1.ReadWriteOncePod {
			return ""
		}
	}
	if len(claim.Spec.AccessModes) == 0 {
		return ""
	}
	return claim.Spec.AccessModes[0]
}
