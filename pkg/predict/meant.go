package predict

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
)

// meant is a field that something in the cluster is meant to set, whatever a manifest
// states there: a placeholder, mostly.
type meant struct {
	kind schema.GroupKind
	// field is the names on the way to it, without the keys of list items.
	field string
	// by is the manager that is meant to set it; empty where it may be any program.
	by string
	// stated is what the manifest has to state for that to be so; empty for nothing.
	stated string
}

// meantForOthers lists the fields whose owner is laid down by Kubernetes. Keep it
// short: a field that is only often left to others, such as the replicas under an
// autoscaler, is the user's to yield.
func meantForOthers() []meant {
	admission := func(kind string) schema.GroupKind {
		return schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: kind}
	}
	return []meant{
		// "The control plane overwrites any values that you manually specify in the
		// rules field of an aggregate ClusterRole."
		// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
		{
			kind:  schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"},
			field: "rules", by: "clusterrole-aggregation-controller", stated: "aggregationRule",
		},
		// The certificate authority of the server: cert-manager's injector and the like
		// write it where manifests have a placeholder.
		// https://cert-manager.io/docs/concepts/ca-injector/
		// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
		{kind: admission("ValidatingWebhookConfiguration"), field: "webhooks.clientConfig.caBundle"},
		{kind: admission("MutatingWebhookConfiguration"), field: "webhooks.clientConfig.caBundle"},
		{
			kind:  schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
			field: "spec.conversion.webhook.clientConfig.caBundle",
		},
		{kind: schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}, field: "spec.caBundle"},
		// Manifests that were read from a cluster have it.
		// https://kubernetes.io/docs/reference/labels-annotations-taints/#deployment-kubernetes-io-revision
		{
			kind:  schema.GroupKind{Group: "apps", Kind: "Deployment"},
			field: "metadata.annotations.deployment.kubernetes.io/revision", by: "kube-controller-manager",
		},
	}
}

// left returns what the item states and something in the cluster is meant to set and
// has set, to another value. It is not contested, unless the user takes it by name.
func (p Predictor) left(item plan.Item, live *unstructured.Unstructured, yielded []fieldpath.Path, adopted []managedfields.Owner) ([]managedfields.Conflict, error) {
	rows := slices.DeleteFunc(meantForOthers(), func(m meant) bool { return !m.speaksOf(item) })
	if len(rows) == 0 || live == nil {
		return nil, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil, err
	}
	others := managedfields.Others(entries, p.Manager)
	var out []managedfields.Conflict
	for _, path := range fieldpath.StatedPaths(item.Object.Object) {
		i := slices.IndexFunc(rows, func(m meant) bool { return m.field == fieldOf(path) })
		if i < 0 || path.Same(item.Object.Object, live.Object) || p.takesByName(item, path) ||
			slices.ContainsFunc(yielded, path.HasPrefix) {
			continue
		}
		owners := managedfields.Owners(others, path)
		if !rows[i].setBy(owners) || slices.ContainsFunc(owners, func(o managedfields.Owner) bool { return slices.Contains(adopted, o) }) {
			continue
		}
		c := managedfields.Conflict{Path: path, Owners: owners}
		c.Yours, _ = path.Get(item.Object.Object)
		c.Live, c.HasLive = path.Get(live.Object)
		out = append(out, c)
	}
	return out, nil
}

// leave returns the manifest without what other components are meant to set.
func (p Predictor) leave(manifest *unstructured.Unstructured, in *Prediction) (*unstructured.Unstructured, error) {
	if len(in.Left) == 0 {
		return manifest, nil
	}
	paths := make([]fieldpath.Path, len(in.Left))
	for i, c := range in.Left {
		paths[i] = c.Path
	}
	without, _, err := yield.Paths(manifest, in.Live, p.Manager, paths, p.schemaOf(in.Item))
	return without, err
}

func (m meant) speaksOf(item plan.Item) bool {
	if m.kind != item.GVK.GroupKind() {
		return false
	}
	_, stated := item.Object.Object[m.stated]
	return stated || m.stated == ""
}

// setBy reports whether owners of the field are who is meant to set it. People who use
// kubectl are not.
func (m meant) setBy(owners []managedfields.Owner) bool {
	return slices.ContainsFunc(owners, func(o managedfields.Owner) bool {
		if m.by != "" {
			return o.Manager == m.by
		}
		return o.Manager != managedfields.BeforeFirstApply && !strings.HasPrefix(o.Manager, "kubectl")
	})
}

// fieldOf returns the names of the fields on a path.
func fieldOf(p fieldpath.Path) string {
	var names []string
	for _, pe := range p {
		if pe.FieldName != nil {
			names = append(names, *pe.FieldName)
		}
	}
	return strings.Join(names, ".")
}
