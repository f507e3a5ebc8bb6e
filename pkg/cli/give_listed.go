package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helm"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/handover"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// listed are the objects of an inventory. One whose version is no longer served is found at the
// one that is.
func listed(
	ctx context.Context, c *connection.Connection, client *cluster.Client, of inventory.Of, emit func(event.Event),
) ([]handover.Target, error) {
	kind, err := client.Preferred(ctx, of.Kind())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	ref := object.Ref{GVK: kind.GVK, Namespace: of.Namespace, Name: of.Name}
	live, err := client.Get(ctx, kind, ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, target.Explained(ctx, client, ref, err))
	}
	contents, err := of.Read(live)
	if err != nil {
		return nil, err
	}
	if contents.Release != nil {
		return released(ctx, c, client, *contents.Release)
	}
	targets := make([]handover.Target, 0, len(contents.Objects))
	var faults []error
	moved := map[schema.GroupVersionKind]bool{}
	for _, ref := range contents.Objects {
		kind, err := client.Kind(ctx, ref.GVK)
		if errors.As(err, new(*cluster.NoKindError)) {
			served, elsewhere := client.Preferred(ctx, ref.GVK.GroupKind())
			if elsewhere == nil && !moved[ref.GVK] {
				moved[ref.GVK] = true
				emit(event.Warned{Text: fmt.Sprintf("%s lists %s at %s, which the server no longer serves: it is read at %s",
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
		targets = append(targets, handover.Target{Kind: kind, Ref: ref})
	}
	return targets, errors.Join(faults...)
}

// released are the objects of a Helm release, as Helm applied them last.
func released(ctx context.Context, c *connection.Connection, client *cluster.Client, named inventory.Release) ([]handover.Target, error) {
	secrets := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	var all []*unstructured.Unstructured
	err := client.Select(ctx, secrets, object.Selection{Namespace: named.Namespace, Labels: helm.Labels(named.Name)}, "", func(u *unstructured.Unstructured) {
		all = append(all, u)
	})
	if err != nil {
		return nil, fmt.Errorf("the release %s/%s: %w", named.Namespace, named.Name, err)
	}
	newest := helm.Newest(all)
	if newest == nil {
		return nil, &object.HintedError{
			Err:    fmt.Errorf("there is no Helm release %s/%s", named.Namespace, named.Name),
			Advice: "helm list -A shows those that there are. Releases that Helm keeps elsewhere than in Secrets cannot be read: give their manifest with -f and --to=helm",
		}
	}
	release, err := helm.Decode(newest)
	if err != nil {
		return nil, fmt.Errorf("the release %s/%s: %w", named.Namespace, named.Name, err)
	}
	read, err := manifest.Read(ctx, manifest.Options{Filenames: []string{"-"}, In: strings.NewReader(release.Manifest), Secrets: c.Vault})
	if err != nil {
		return nil, fmt.Errorf("the manifest of the release %s/%s: %w", named.Namespace, named.Name, err)
	}
	var targets []handover.Target
	var faults []error
	for _, m := range read.Objects {
		kind, err := client.Kind(ctx, m.Object.GroupVersionKind())
		if err != nil {
			faults = append(faults, err)
			continue
		}
		stated := release.Applied(m.Object)
		if kind.Namespaced && stated.GetNamespace() == "" {
			stated.SetNamespace(release.Namespace)
		}
		ref := object.RefOf(stated)
		ref.GVK = kind.GVK
		targets = append(targets, handover.Target{Kind: kind, Ref: ref, Stated: stated})
	}
	return targets, errors.Join(faults...)
}
