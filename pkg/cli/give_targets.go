package cli

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// giveScope is which objects are meant.
type giveScope struct {
	targets target.Targets
	// release is a Helm release whose objects are meant, and inventory is what lists them; nil
	// for none. Files among the targets are then what is applied next.
	release   *inventory.Release
	inventory *inventory.Of
}

// resolve finds the objects that are meant, with what the receiver applies where that is
// known.
func (o *giveScope) resolve(
	ctx context.Context, c *connection.Connection, client *client.Client, emit func(event.Event),
) ([]give.Target, error) {
	next := nextRun{o.targets.InFiles, o.targets.Files.Manifests}
	switch {
	case o.release != nil:
		return released(ctx, c, client, *o.release, next, emit)
	case o.inventory != nil:
		return listed(ctx, c, client, *o.inventory, next, emit)
	case o.targets.InFiles:
		p, err := o.targets.Files.Order(ctx, c, client, emit)
		if err != nil {
			return nil, err
		}
		return plannedTargets(ctx, client, p)
	}
	found, err := o.targets.Resolve(ctx, c, client)
	if err != nil {
		return nil, err
	}
	var all []give.Target
	for _, t := range found {
		if t.Name != "" {
			all = append(all, give.Target{Kind: t.Kind, Ref: object.Ref{GVK: t.Kind.GVK, Namespace: t.Namespace, Name: t.Name}})
			continue
		}
		some, err := selected(ctx, client, t)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		return nil, &object.HintedError{Err: errors.New("no object matches"), Advice: "check the selector and the namespace; -A looks into all of them"}
	}
	return all, nil
}

// selected are the objects that match, by their names alone.
func selected(ctx context.Context, client *client.Client, t target.Target) ([]give.Target, error) {
	var all []give.Target
	seen := map[object.Key]bool{}
	err := client.Metadata(ctx, t.Kind, t.Selection, func(u *unstructured.Unstructured) {
		ref := object.Ref{GVK: t.Kind.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}
		if !seen[ref.Key()] {
			seen[ref.Key()] = true
			all = append(all, give.Target{Kind: t.Kind, Ref: ref})
		}
	})
	return all, err
}

// plannedTargets are the objects of manifests, as far as their kinds are served.
func plannedTargets(ctx context.Context, client *client.Client, p *plan.Plan) ([]give.Target, error) {
	var all []give.Target
	var faults []error
	for _, ph := range p.Phases {
		for _, it := range ph.Items {
			if it.Kind.Resource == "" {
				faults = append(faults, client.Unserved(ctx, it.GVK))
				continue
			}
			all = append(all, give.Target{Kind: it.Kind, Ref: it.Ref, Stated: it.Object})
		}
	}
	return all, errors.Join(faults...)
}
