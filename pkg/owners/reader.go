package owners

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Reader reads objects. A kind that the server does not serve is an error for
// which [meta.IsNoMatchError] is true.
type Reader interface {
	Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error)
	Select(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, visit func(*unstructured.Unstructured)) error
}
