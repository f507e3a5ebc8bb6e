package discovery

import (
	"cmp"
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// unseenFor is how long to wait for a kind if we may not read definitions. A quiet server
// needs 10 to 60 ms.
const unseenFor = 2 * time.Second

// Upcoming waits for a kind that the server does not serve yet, if there is reason to:
// its definition is in the cluster, and the server takes a while from storing one to
// serving it (edge case 18, between two runs). It waits for as long as it would wait for
// the server itself, and calls tell first, with the definition.
//
// Without the right to read definitions it waits briefly, and not at all if the name is
// nearly that of a kind which is served. The error is a *NoKindError if nothing says that
// the kind will come, or if it did not.
func (d *Discovery) Upcoming(ctx context.Context, gvk schema.GroupVersionKind, tell func(definition string)) (object.Kind, error) {
	kind, list, err := d.live(ctx, gvk, d.listedNow)
	missing, ok := errors.AsType[*NoKindError](err)
	switch {
	case err == nil: // The cached list of all kinds lags behind.
		d.Know(kind, true)
		d.cache.see(gvk.GroupVersion(), list)
		return kind, nil
	case !ok:
		return kind, err
	}
	definition, err := d.definitionOf(ctx, gvk)
	switch {
	case ctx.Err() != nil:
		return kind, context.Cause(ctx)
	case transport.Denied(err) && missing.Near == "":
		return d.Served(ctx, gvk, min(d.timeout, unseenFor))
	case err != nil, definition == "":
		return kind, missing
	}
	tell(definition)
	err = d.Established(ctx, definition)
	if refused, ok := errors.AsType[*NotEstablishedError](err); ok {
		d.known.setRefused(gvk, refused)
		return kind, missing
	}
	if err != nil {
		return kind, err
	}
	return d.Served(ctx, gvk, 0)
}

// Served waits until the server serves the kind: for the given time or, if that is 0, for
// as long as it would wait for the server itself. A definition that is Established is not
// yet served (apiextensions-apiserver#5; edge case 18): only a request for the kind shows
// that it is. The answer is kept for the next run.
func (d *Discovery) Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (kind object.Kind, err error) {
	var list *metav1.APIResourceList
	ended := until(ctx, cmp.Or(within, d.timeout), func() bool {
		kind, list, err = d.live(ctx, gvk, d.listedNow)
		return !errors.As(err, new(*NoKindError)) && !errors.As(err, new(*UntoldKindError)) // Until its Pods are ready, an aggregated API does not answer.
	})
	if err = cmp.Or(ended, err); err != nil {
		return object.Kind{}, err
	}
	d.Know(kind, true)
	d.cache.see(gvk.GroupVersion(), list)
	return kind, nil
}
