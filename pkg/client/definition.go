package client

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// openFor bounds how long a deletion waits for the storage of a definition's instances. It
// opens in a fraction of a second; without it, the definition goes as well, later.
const openFor = 5 * time.Second

// isDefinition reports whether objects of the kind define other kinds.
func isDefinition(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// openStorage makes the server open the storage of a definition's instances before the
// definition is deleted. The server opens it when the kind is asked for first, and its own
// finalizer asks as well: it then fails with "storage is (re)initializing", and may forget the
// definition for up to five minutes, after which it looks at all of them again
// (docs/design/delete.md).
//
// It goes as far as it can: whatever is wrong, the deletion follows and says it.
func (c *Client) openStorage(ctx context.Context, kind object.Kind, ref object.Ref) {
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	ahead := transport.Request{Ref: ref, Quiet: true, Asked: make(chan struct{})} // It is not reported.
	var definition *unstructured.Unstructured
	err := c.requests.Once(ctx, ahead, func(ctx context.Context) error {
		body, err := transport.Read(ctx, c.rest.Get().AbsPath(transport.ResourcePath(kind, ref.Namespace, ref.Name)...))
		if err == nil {
			definition, err = transport.Object(body, kind, ref)
		}
		return err
	})
	if err != nil || definition.GetDeletionTimestamp() != nil {
		return
	}
	kinds := instancesOf(definition)
	if len(kinds) == 0 {
		return
	}
	pauses := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.5, Steps: 100, Cap: time.Second}
	for {
		err := c.requests.Once(ctx, ahead, func(ctx context.Context) error {
			// No object has the label, so that the answer is short. A list with a limit would
			// be read past what is to be opened, from etcd.
			list := listwatch.Collection(c.rest, kinds[0], object.Selection{Labels: "k8sconnect.io/storage=open"})
			_, err := transport.Read(ctx, listwatch.MetadataOnly(list))
			return err
		})
		if !apierrors.IsTooManyRequests(err) || retry.For(ctx, pauses.Step()) != nil {
			return
		}
	}
}
