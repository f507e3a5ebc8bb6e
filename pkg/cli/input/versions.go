package input

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// InServedVersions replaces versions that are not served by one that is: it is the same
// object, so a file that was applied once identifies what to delete even if its version
// has been removed since.
func (o *Options) InServedVersions(ctx context.Context, client *client.Client, p *plan.Plan, emit func(event.Event)) error {
	unserved := func(it plan.Item) bool { return it.Kind.Resource == "" }
	if !slices.ContainsFunc(p.Phases, func(ph plan.Phase) bool { return slices.ContainsFunc(ph.Items, unserved) }) {
		return nil
	}
	known := map[object.Key]bool{}
	for _, ph := range p.Phases {
		for _, it := range ph.Items {
			known[it.Key()] = true
		}
	}
	served := map[schema.GroupVersionKind]object.Kind{}
	for i, ph := range p.Phases {
		var items []plan.Item
		for _, it := range ph.Items {
			if it.Kind.Resource != "" {
				items = append(items, it)
				continue
			}
			kind, asked := served[it.GVK]
			if !asked {
				kind = servedKind(ctx, client, it.GVK, emit)
				served[it.GVK] = kind
			}
			found, err := in(kind, it, o.Scope)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				return err
			case found.Key() != it.Key() && known[found.Key()]: // The set names it in both versions.
				continue
			}
			known[found.Key()] = true
			items = append(items, found)
		}
		p.Phases[i].Items = items
	}
	return nil
}

// in returns the item as one of the kind; unchanged if the kind is served in no version.
func in(kind object.Kind, it plan.Item, scope plan.Options) (plan.Item, error) {
	if kind.Resource == "" {
		return it, nil
	}
	found, err := it.Resolve(kind, scope)
	found.GVK = kind.GVK
	return found, err
}

// servedKind returns how a kind is served in a version other than the requested one. It
// has no resource if no version is served, or if that is unknown: each of its objects
// then reports why.
func servedKind(ctx context.Context, c *client.Client, gvk schema.GroupVersionKind, emit func(event.Event)) object.Kind {
	_, err := c.Kind(ctx, gvk)
	if missing, ok := errors.AsType[*client.NoKindError](err); !ok || missing.Err != nil {
		return object.Kind{}
	}
	elsewhere, err := c.Elsewhere(ctx, gvk)
	if err != nil || len(elsewhere) == 0 {
		return object.Kind{}
	}
	kind, err := c.Kind(ctx, elsewhere[0].WithKind(gvk.Kind))
	if err != nil {
		return object.Kind{}
	}
	emit(event.Warned{Text: fmt.Sprintf("%s is no longer served in %s: its objects are deleted in %s",
		gvk.Kind, gvk.GroupVersion(), kind.GVK.GroupVersion())})
	return kind
}
