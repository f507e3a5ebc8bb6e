package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Kind says how the server serves a kind. It trusts the cache on disk for Kubernetes' own
// kinds that the cache knows; if the cache does not know a kind, it is refilled, once in
// a run. Other definitions come and go faster than a cache expires, so the server is
// asked about them. Only the group version of the kind is requested, so that an API whose
// server is down affects no other kind (edge case 21). The error is a *NoKindError if the
// server does not serve the kind, and an *UntoldKindError if the server is well but what
// serves the kind does not answer (edge case 20). If the server does not say what it serves
// at all, it is an *UntoldError.
func (d *Discovery) Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	return d.kind(ctx, gvk, d.listedNow)
}

// KindOnce returns Kind for a caller that asks about many kinds at once: the server is asked
// once about each group version, however long it takes until the last of its kinds has its
// turn.
func (d *Discovery) KindOnce(ctx context.Context) func(context.Context, schema.GroupVersionKind) (object.Kind, error) {
	type answered struct {
		listing
		err error
	}
	lists := once(func(gv schema.GroupVersion) answered {
		l, err := d.listed(ctx, gv)
		return answered{l, err}
	})
	return func(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
		return d.kind(ctx, gvk, func(_ context.Context, gv schema.GroupVersion) (listing, error) {
			l := lists(gv)
			return l.listing, l.err
		})
	}
}

func (d *Discovery) kind(ctx context.Context, gvk schema.GroupVersionKind, list func(context.Context, schema.GroupVersion) (listing, error)) (object.Kind, error) {
	if kind, ok := d.known.get(gvk); ok {
		return kind, nil
	}
	kind, sure, err := d.remembered(ctx, gvk)
	if err == nil && !sure {
		kind, _, err = d.live(ctx, gvk, list)
	}
	if err == nil {
		d.Know(kind, false)
	}
	return kind, err
}

// Remembered is Kind by what the cache has, where it has the groups, or can get them. If it is
// not sure, Kind would ask the server, since definitions come and go; so it would before it
// says that there is no such kind.
func (d *Discovery) Remembered(ctx context.Context, gvk schema.GroupVersionKind) (kind object.Kind, sure bool, err error) {
	if kind, ok := d.known.get(gvk); ok {
		return kind, true, nil
	}
	unlock, err := d.known.lock(ctx)
	if err != nil {
		return object.Kind{}, false, err
	}
	defer unlock()
	return d.cached(ctx, gvk)
}

// remembered asks the cache, and fills it anew, once in a run, if it is from before this run
// and lacks the kind.
func (d *Discovery) remembered(ctx context.Context, gvk schema.GroupVersionKind) (kind object.Kind, sure bool, err error) {
	unlock, err := d.known.lock(ctx)
	if err != nil {
		return object.Kind{}, false, err
	}
	defer unlock()
	kind, sure, err = d.cached(ctx, gvk)
	if errors.As(err, new(*NoKindError)) && !d.known.renewed && !d.cache.fresh() {
		d.known.renewed = true
		d.cache.distrust()
		return d.cached(ctx, gvk)
	}
	return kind, sure, err
}

// cached looks into the cache, which fills itself if it is empty. It is not sure of kinds
// that are from before this run and may be outdated.
func (d *Discovery) cached(ctx context.Context, gvk schema.GroupVersionKind) (kind object.Kind, sure bool, err error) {
	if d.cache.known() == nil {
		if err := d.fill(ctx); err != nil {
			return object.Kind{}, false, err
		}
	}
	sure = transport.KubernetesOwn(gvk.Group) || d.cache.fresh()
	list, err := d.list(ctx, gvk.GroupVersion())
	switch {
	case errors.As(err, new(discovery.StaleGroupVersionError)):
		return object.Kind{}, sure, &NoKindError{GVK: gvk, Err: errDeadAPI}
	case apierrors.IsNotFound(err), err == nil && list == nil:
		return object.Kind{}, sure, &NoKindError{GVK: gvk}
	case err != nil:
		return object.Kind{}, sure, ofKind(gvk, err)
	}
	kind, err = find(list, gvk)
	return kind, sure, err
}

var errDeadAPI = errors.New("the server behind this API does not answer")

// find looks for the resource of a kind; subresources are of kinds of their own.
func find(list *metav1.APIResourceList, gvk schema.GroupVersionKind) (object.Kind, error) {
	i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == gvk.Kind && !strings.Contains(r.Name, "/")
	})
	if i < 0 {
		return object.Kind{}, &NoKindError{GVK: gvk, Near: nearKind(list, gvk)}
	}
	r := list.APIResources[i]
	return object.Kind{
		GVK: gvk, Resource: r.Name, ShortNames: r.ShortNames, Namespaced: r.Namespaced, Verbs: r.Verbs,
	}, nil
}

// live asks the server itself about the one group version, and returns the list that has
// the kind, too. Its errors are those of Kind.
func (d *Discovery) live(
	ctx context.Context, gvk schema.GroupVersionKind, list func(context.Context, schema.GroupVersion) (listing, error),
) (object.Kind, *metav1.APIResourceList, error) {
	l, err := list(ctx, gvk.GroupVersion())
	if err != nil {
		return object.Kind{}, nil, ofKind(gvk, err)
	}
	kind, err := find(&l.kinds, gvk)
	return kind, &l.kinds, err
}

// listing is the server's own list of the kinds of a group version; empty if it has none.
type listing struct {
	kinds metav1.APIResourceList
	found bool
}

// listedNow is listed for callers that ask at the same time: they share one request. If that
// fails, each asks for itself, since the first may have been interrupted.
func (d *Discovery) listedNow(ctx context.Context, gv schema.GroupVersion) (listing, error) {
	first := false
	l, err, _ := d.asking.Do(gv.String(), func() (any, error) {
		first = true
		return d.listed(ctx, gv)
	})
	if err != nil && !first {
		return d.listed(ctx, gv)
	}
	return l.(listing), err
}

func (d *Discovery) listed(ctx context.Context, gv schema.GroupVersion) (listing, error) {
	var l listing
	err := d.requests.Do(ctx, transport.Request{Ref: ofGroup(gv), Bulk: true, Patience: forKinds}, func(ctx context.Context) error {
		body, err := transport.Read(ctx, d.rest.Get().AbsPath(transport.GroupPath(gv.Group, gv.Version)...))
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &l.kinds)
	})
	if apierrors.IsNotFound(err) {
		return listing{}, nil
	}
	l.found = err == nil
	return l, err
}
