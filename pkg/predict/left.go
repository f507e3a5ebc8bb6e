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

// left returns the paths of the item that something in the cluster sets to another value, as
// intended. They are in no conflict, unless the user takes one by name.
func (p Predictor) left(item plan.Item, live *unstructured.Unstructured, yielded []fieldpath.Path, adopted []managedfields.Owner) ([]managedfields.Conflict, error) {
	rows := MeantForOthers(item.GVK.GroupKind(), item.Object)
	if len(rows) == 0 || live == nil {
		return nil, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil, err
	}
	others := managedfields.Others(entries, p.Manager)
	var out []managedfields.Conflict
	near := func(path fieldpath.Path) bool {
		return slices.ContainsFunc(rows, func(m Meant) bool { return m.IsWithin(path) })
	}
	for _, path := range fieldpath.StatedPathsWithin(item.Object.Object, near) {
		i := slices.IndexFunc(rows, func(m Meant) bool { return m.Is(path) })
		if i < 0 || path.Same(item.Object.Object, live.Object) || slices.ContainsFunc(yielded, path.HasPrefix) {
			continue
		}
		owners, err := managedfields.Owners(others, path)
		if err != nil {
			return nil, err
		}
		if p.setsByName(item, path, owners) {
			continue
		}
		if !rows[i].SetBy(owners) || slices.ContainsFunc(owners, func(o managedfields.Owner) bool { return slices.Contains(adopted, o) }) {
			continue
		}
		c := managedfields.Conflict{Path: path, Owners: owners}
		c.Yours, _ = path.Get(item.Object.Object)
		c.Live, c.HasLive = path.Get(live.Object)
		p.report(item, path, Left, said{})
		out = append(out, c)
	}
	return out, nil
}

// setsByName reports whether the user takes this very path from those who should set it.
func (p Predictor) setsByName(item plan.Item, path fieldpath.Path, owners []managedfields.Owner) bool {
	_, now := p.takerByName(p.Take, item, path, owners)
	_, always := p.takerByName(p.Standing.Take, item, path, owners)
	return now || always
}

// leave returns the manifest without the fields that other components should set.
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

// Meant is a field that something in the cluster should set, whatever a manifest states there.
// Mostly the manifest has a placeholder.
type Meant struct {
	kind schema.GroupKind
	// field are the names of its path, without the keys of list items.
	field string
	// by is the manager that should set it; empty for any program.
	by string
	// stated is a field that the manifest has to state for this to apply; empty if it always
	// applies.
	stated string
}

// meantForOthers lists the fields whose owner Kubernetes prescribes. Keep it short: a field that is
// merely often left to others, such as the replicas under an autoscaler, is for the user to yield.
func meantForOthers() []Meant {
	admission := func(kind string) schema.GroupKind {
		return schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: kind}
	}
	return []Meant{
		// "The control plane overwrites any values that you manually specify in the
		// rules field of an aggregate ClusterRole."
		// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
		{
			kind:  schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"},
			field: "rules", by: "clusterrole-aggregation-controller", stated: "aggregationRule",
		},
		// The server's certificate authority: cert-manager's injector and similar
		// controllers write it over the manifest's placeholder.
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

// MeantForOthers returns the fields of a manifest's kind that Kubernetes assigns to another owner,
// if the manifest leaves them to that owner.
func MeantForOthers(kind schema.GroupKind, manifest *unstructured.Unstructured) []Meant {
	return slices.DeleteFunc(meantForOthers(), func(m Meant) bool { return !m.speaksOf(kind, manifest.Object) })
}

func (m Meant) speaksOf(kind schema.GroupKind, manifest map[string]any) bool {
	if m.kind != kind {
		return false
	}
	_, stated := manifest[m.stated]
	return stated || m.stated == ""
}

// Is reports whether the field is at a path.
func (m Meant) Is(path fieldpath.Path) bool { return m.field == fieldOf(path) }

// IsWithin reports whether the field is at a path, or may be below it.
func (m Meant) IsWithin(path fieldpath.Path) bool {
	above := fieldOf(path)
	return above == "" || m.field == above || strings.HasPrefix(m.field, above+".")
}

// SetBy reports whether one of the owners should set the field. People who use kubectl should not.
func (m Meant) SetBy(owners []managedfields.Owner) bool {
	return slices.ContainsFunc(owners, func(o managedfields.Owner) bool {
		if m.by != "" {
			return o.Manager == m.by
		}
		return o.Manager != managedfields.BeforeFirstApply && !strings.HasPrefix(o.Manager, "kubectl")
	})
}

// fieldOf returns the names of the fields of a path.
func fieldOf(p fieldpath.Path) string {
	var names []string
	for _, pe := range p {
		if pe.FieldName != nil {
			names = append(names, *pe.FieldName)
		}
	}
	return strings.Join(names, ".")
}
