package cli

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// inServedVersions has objects whose version is not served looked for in the one
// that is: it is the same object, and a file that was applied once says what to
// delete although its version went since.
func (o *deleteOptions) inServedVersions(ctx context.Context, client *cluster.Client, p *plan.Plan) error {
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
				kind = o.servedKind(ctx, client, it.GVK)
				served[it.GVK] = kind
			}
			found, err := in(kind, it, o.targets.files.scope)
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

// in returns the item as one of the kind; as it is, if that is served in no version.
func in(kind object.Kind, it plan.Item, scope plan.Options) (plan.Item, error) {
	if kind.Resource == "" {
		return it, nil
	}
	found, err := it.Resolve(kind, scope)
	found.GVK = kind.GVK
	return found, err
}

// servedKind returns how a kind is served in another version than the one that is
// asked for; without a resource if it is in none, or if that cannot be told: then
// each of its objects is told why.
func (o *deleteOptions) servedKind(ctx context.Context, client *cluster.Client, gvk schema.GroupVersionKind) object.Kind {
	_, err := client.Kind(ctx, gvk)
	if missing, ok := errors.AsType[*cluster.NoKindError](err); !ok || missing.Err != nil {
		return object.Kind{}
	}
	elsewhere, err := client.Elsewhere(ctx, gvk)
	if err != nil || len(elsewhere) == 0 {
		return object.Kind{}
	}
	kind, err := client.Kind(ctx, elsewhere[0].WithKind(gvk.Kind))
	if err != nil {
		return object.Kind{}
	}
	o.out.Print(event.Warned{Text: fmt.Sprintf("%s is no longer served in %s: its objects are deleted in %s",
		gvk.Kind, gvk.GroupVersion(), kind.GVK.GroupVersion())})
	return kind
}

// unserved tells kinds of which there can be no objects from those whose server
// does not answer.
func (o *deleteOptions) unserved(ctx context.Context, client *cluster.Client, phases []deletion.Phase) error {
	for _, ph := range phases {
		for _, s := range ph.Sets {
			if !s.Items[0].Absent {
				continue
			}
			err := surelyNone(ctx, client, s.Items[0].Ref)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for i := range s.Items {
				s.Items[i].Err = err
			}
		}
	}
	return nil
}

// surelyNone is why there may be an object of a kind that is not served in any version;
// nil if there can be none.
func surelyNone(ctx context.Context, client *cluster.Client, ref object.Ref) error {
	gvk := ref.GVK
	_, err := client.Kind(ctx, gvk)
	missing, ok := errors.AsType[*cluster.NoKindError](err)
	if err == nil || !ok || missing.Err != nil {
		return err
	}
	if _, err = client.Elsewhere(ctx, gvk); err != nil {
		return err
	}
	return client.Doubt(ctx, gvk, ref.Namespace)
}
