package input

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// unexplained returns the kinds of the manifests that the cluster does not serve, and
// that nothing among the manifests may bring.
func unexplained(
	manifests []object.Manifest, scope plan.Options, known map[schema.GroupVersionKind]object.Kind,
) []schema.GroupVersionKind {
	if !slices.ContainsFunc(manifests, func(m object.Manifest) bool { return known[m.Ref().GVK].Resource == "" }) {
		return nil
	}
	scope.Kinds = known
	p, err := plan.Build(manifests, scope)
	if err != nil {
		return nil // The error is reported before any kind matters.
	}
	missing := map[schema.GroupVersionKind]bool{}
	for _, ph := range p.Phases {
		for _, it := range ph.Items {
			if it.Kind.Resource == "" && len(it.Bringers)+len(it.OnlyIn) == 0 && !object.IsBuiltIn(it.GVK.Group) {
				missing[it.GVK] = true
			}
		}
	}
	return slices.Collect(maps.Keys(missing))
}

// upcoming waits for kinds that are defined but not served yet, and adds them to the
// known ones.
func upcoming(
	ctx context.Context, client *client.Client, missing []schema.GroupVersionKind, known map[schema.GroupVersionKind]object.Kind, emit func(event.Event),
) error {
	found, err := askAll(ctx, missing, func(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
		return client.Upcoming(ctx, gvk, func(definition string) {
			emit(event.Waiting{Kind: gvk.Kind, For: gvk.Kind + " to be served, as customresourcedefinition/" + definition + " says it will be"})
		})
	})
	maps.Copy(known, found)
	return err
}

// kinds asks how the cluster serves each kind of the manifests. It leaves out kinds that
// are not served: perhaps the set defines them.
func kinds(ctx context.Context, client *client.Client, manifests []object.Manifest) (map[schema.GroupVersionKind]object.Kind, error) {
	meant := map[schema.GroupVersionKind]bool{}
	for _, m := range manifests {
		meant[m.Ref().GVK] = true
	}
	return askAll(ctx, slices.Collect(maps.Keys(meant)), client.KindOnce(ctx))
}

// askAll asks for kinds in parallel, and leaves out those that are not served, or whose
// answer is unknown. The first other error ends all questions.
func askAll(
	ctx context.Context, gvks []schema.GroupVersionKind, ask func(context.Context, schema.GroupVersionKind) (object.Kind, error),
) (map[schema.GroupVersionKind]object.Kind, error) {
	var (
		mu    sync.Mutex
		known = map[schema.GroupVersionKind]object.Kind{}
	)
	group, ctx := errgroup.WithContext(ctx)
	for _, gvk := range gvks {
		group.Go(func() error {
			kind, err := ask(ctx, gvk)
			if unserved(err) {
				return nil // The verb that needs it asks again, and reports why.
			}
			mu.Lock()
			defer mu.Unlock()
			known[gvk] = kind
			return err
		})
	}
	return known, group.Wait()
}

// unserved reports whether an error says that a kind is not served, or that its server does
// not answer.
func unserved(err error) bool {
	return errors.As(err, new(*client.NoKindError)) || errors.As(err, new(*client.UntoldKindError))
}
