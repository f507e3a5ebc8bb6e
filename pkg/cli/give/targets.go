package give

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

type scope struct {
	targets target.Targets
	// At most one of release and inventory is set. If one is set, the files in targets are the
	// manifests that the tool will apply next.
	release   *inventory.Release
	inventory *inventory.Of
	// chart replaces the release's stored manifest; nil if there is none.
	chart helmrelease.ChartOutput
}

func (o *scope) resolve(
	ctx context.Context, c *connection.Connection, client *client.Client, emit func(event.Event),
) ([]give.Target, error) {
	next := nextRun{o.targets.InFiles, o.targets.Files.Manifests}
	switch {
	case o.release != nil:
		return o.released(ctx, c, client, next, emit)
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
		return nil, &object.HintedError{Err: errors.New("no object matches"), Advice: "check the selector and the namespace; -A searches all namespaces"}
	}
	return all, nil
}

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

// plannedTargets returns the objects of the plan as targets. Its error joins one error for each
// object whose kind is not served.
func plannedTargets(ctx context.Context, client *client.Client, p *plan.Plan) ([]give.Target, error) {
	var all []give.Target
	var faults []error
	for it := range p.Items() {
		if it.Kind.Resource == "" {
			faults = append(faults, client.Unserved(ctx, it.GVK))
			continue
		}
		all = append(all, give.Target{Kind: it.Kind, Ref: it.Ref, Declared: it.Object})
	}
	return all, errors.Join(faults...)
}

// kindOf returns the kind of the object with an inventory. Its API is installed by the tool, not by the
// user's own run.
func kindOf(ctx context.Context, server *client.Client, of inventory.Of) (object.Kind, error) {
	kind, err := server.Preferred(ctx, of.Kind())
	if errors.As(err, new(*client.NoKindError)) {
		err = object.Hinted("check the context: "+command.Kubectl("config", "current-context"), "%w", err)
	}
	if err != nil {
		return kind, fmt.Errorf("%s: %w", of, err)
	}
	return kind, nil
}

// listed returns the objects that an inventory lists. If an object's version is no longer served,
// listed uses the preferred version of the kind.
func listed(
	ctx context.Context, c *connection.Connection, server *client.Client, of inventory.Of, next nextRun, emit func(event.Event),
) ([]give.Target, error) {
	kind, err := kindOf(ctx, server, of)
	if err != nil {
		return nil, err
	}
	ref := object.Ref{GVK: kind.GVK, Namespace: of.Namespace, Name: of.Name}
	live, err := server.Get(ctx, kind, ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, target.Explained(ctx, server, ref, err))
	}
	contents, err := of.Read(live)
	if err != nil {
		return nil, err
	}
	if contents.Release != nil {
		return (&scope{release: contents.Release}).released(ctx, c, server, next, emit)
	}
	targets := make([]give.Target, 0, len(contents.Objects))
	var faults []error
	moved := map[schema.GroupVersionKind]bool{}
	for _, ref := range contents.Objects {
		kind, err := server.Kind(ctx, ref.GVK)
		if errors.As(err, new(*client.NoKindError)) {
			served, elsewhere := server.Preferred(ctx, ref.GVK.GroupKind())
			if elsewhere == nil && !moved[ref.GVK] {
				moved[ref.GVK] = true
				emit(event.Warned{Text: fmt.Sprintf("%s lists %s at %s, which the server no longer serves: these objects are read at %s",
					of, ref.GVK.Kind, ref.GVK.GroupVersion(), served.GVK.GroupVersion())})
			}
			if elsewhere == nil {
				kind, err = served, nil
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s lists %s: %w", of, ref, err))
			continue
		}
		ref.GVK = kind.GVK
		targets = append(targets, give.Target{Kind: kind, Ref: ref})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	asIs := func(u *unstructured.Unstructured) *unstructured.Unstructured { return u }
	return next.declared(ctx, server, targets, of.String(), asIs, emit)
}

// nextRun holds the manifests that a tool will apply next, as far as they are known.
type nextRun struct {
	known     bool
	manifests []object.Manifest
}

// declared returns the listed targets with their manifests. It warns about objects that are only in
// the list or only in the manifests.
func (n nextRun) declared(
	ctx context.Context, client *client.Client, listed []give.Target, of string,
	applied func(*unstructured.Unstructured) *unstructured.Unstructured, emit func(event.Event),
) ([]give.Target, error) {
	if !n.known {
		return listed, nil
	}
	kindOf := func(gvk schema.GroupVersionKind) (object.Kind, error) { return client.Kind(ctx, gvk) }
	met, err := give.Meet(listed, n.manifests, kindOf, applied)
	if err != nil {
		return nil, err
	}
	for _, ref := range met.Gone {
		emit(event.Warned{Ref: ref, Text: fmt.Sprintf("%s lists it, but the manifests of the next run do not contain it: its fields are left alone", of)})
	}
	if met.Beyond > 0 {
		skipped := "1 object in the manifests was skipped: " + of + " does not list it yet"
		if met.Beyond > 1 {
			skipped = fmt.Sprintf("%d objects in the manifests were skipped: %s does not list them yet", met.Beyond, of)
		}
		emit(event.Warned{Text: skipped})
	}
	if len(met.Targets) == 0 {
		return nil, object.Hinted("use the manifests that it applies, with their namespaces",
			"the manifests contain no object that %s lists", of)
	}
	return met.Targets, nil
}
