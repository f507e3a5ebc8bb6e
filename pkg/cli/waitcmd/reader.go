package waitcmd

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// patientReader retries like the rest of a wait: if the server is briefly unavailable, it
// asks again.
type patientReader struct {
	*client.NoRetry
	client *client.Client
}

// Now is the time as the cluster has it.
func (p patientReader) Now() time.Time { return p.client.Now() }

func (p patientReader) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := p.client.Read(ctx, object.Ref{GVK: gvk, Namespace: namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return u, err
}

func (p patientReader) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	return p.client.Exists(ctx, ref)
}

func (p patientReader) Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	return p.client.Select(ctx, gvk, sel, fields, visit)
}
