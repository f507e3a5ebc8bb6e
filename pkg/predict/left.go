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

// left returns the fields that a component in the cluster sets by design, and to which it has given a value
// other than the manifest's. Such a field is in conflict only if the user takes exactly its path.
func (p Predictor) left(in *Prediction, item plan.Item, yielded []fieldpath.Path, adopted []managedfields.Owner) ([]managedfields.Conflict, error) {
	rows, live := IntendedForOthers(item.GVK.GroupKind(), item.Object), in.Live
	if len(rows) == 0 || live == nil {
		return nil, nil
	}
	entries, err := in.Entries(live)
	if err != nil {
		return nil, err
	}
	others := managedfields.Others(entries, p.Manager)
	var out []managedfields.Conflict
	near := func(path fieldpath.Path) bool {
		return slices.ContainsFunc(rows, func(m SetByDesign) bool { return m.IsWithin(path) })
	}
	for _, path := range fieldpath.ManifestPathsWithin(item.Object.Object, near) {
		i := slices.IndexFunc(rows, func(m SetByDesign) bool { return m.Is(path) })
		if i < 0 || path.Same(item.Object.Object, live.Object) || slices.ContainsFunc(yielded, path.HasPrefix) {
			continue
		}
		owners, err := managedfields.Owners(others, path)
		if err != nil {
			return nil, err
		}
		_, now := p.takerByName(p.Take, item, path, owners)
		if _, always := p.takerByName(p.Standing.Take, item, path, owners); now || always {
			continue
		}
		if !rows[i].SetBy(owners) || slices.ContainsFunc(owners, func(o managedfields.Owner) bool { return slices.Contains(adopted, o) }) {
			continue
		}
		c := managedfields.Conflict{Path: path, Owners: owners}
		c.Yours, _ = path.Get(item.Object.Object)
		c.Live, c.HasLive = path.Get(live.Object)
		p.report(item, path, Left, message{})
		out = append(out, c)
	}
	return out, nil
}

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

// SetByDesign is a field that a component in the cluster sets by design. The manifest's value is usually a
// placeholder.
type SetByDesign struct {
	kind schema.GroupKind
	// field is the path without list keys.
	field string
	// by is the manager that sets the field by design; empty if its name is not fixed (see
	// [SetByDesign.SetBy]).
	by string
	// declared names a top-level field. If it is not empty, the row applies only to a manifest that
	// sets this field.
	declared string
}

// intendedForOthers lists the fields whose owner Kubernetes prescribes. Keep the list short. Users can
// yield the fields that are often, but not always, left to others, such as replicas under an
// autoscaler.
func intendedForOthers() []SetByDesign {
	admission := func(kind string) schema.GroupKind {
		return schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: kind}
	}
	return []SetByDesign{
		// "The control plane overwrites any values that you manually specify in the
		// rules field of an aggregate ClusterRole."
		// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
		{
			kind:  schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"},
			field: "rules", by: "clusterrole-aggregation-controller", declared: "aggregationRule",
		},
		// cert-manager's injector and similar controllers replace the manifest's placeholder.
		// https://cert-manager.io/docs/concepts/ca-injector/
		// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
		{kind: admission("ValidatingWebhookConfiguration"), field: "webhooks.clientConfig.caBundle"},
		{kind: admission("MutatingWebhookConfiguration"), field: "webhooks.clientConfig.caBundle"},
		{
			kind:  schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
			field: "spec.conversion.webhook.clientConfig.caBundle",
		},
		{kind: schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}, field: "spec.caBundle"},
		// Manifests exported from a cluster contain this annotation.
		// https://kubernetes.io/docs/reference/labels-annotations-taints/#deployment-kubernetes-io-revision
		{
			kind:  schema.GroupKind{Group: "apps", Kind: "Deployment"},
			field: "metadata.annotations.deployment.kubernetes.io/revision", by: "kube-controller-manager",
		},
	}
}

// IntendedForOthers returns the fields of a manifest that Kubernetes assigns to another owner.
func IntendedForOthers(kind schema.GroupKind, manifest *unstructured.Unstructured) []SetByDesign {
	return slices.DeleteFunc(intendedForOthers(), func(m SetByDesign) bool {
		_, declared := manifest.Object[m.declared]
		return m.kind != kind || !declared && m.declared != ""
	})
}

// ByDesign returns a function that reports whether Kubernetes assigns a field of the manifest to one of
// the given owners.
func ByDesign(kind schema.GroupKind, manifest *unstructured.Unstructured) func(fieldpath.Path, []managedfields.Owner) bool {
	rows := IntendedForOthers(kind, manifest)
	return func(p fieldpath.Path, owners []managedfields.Owner) bool {
		return slices.ContainsFunc(rows, func(by SetByDesign) bool { return by.Is(p) && by.SetBy(owners) })
	}
}

// Is reports whether the path is the field's path, ignoring list keys.
func (m SetByDesign) Is(path fieldpath.Path) bool { return m.field == fieldOf(path) }

// IsWithin reports whether the field is at or below the path.
func (m SetByDesign) IsWithin(path fieldpath.Path) bool {
	above := fieldOf(path)
	return above == "" || m.field == above || strings.HasPrefix(m.field, above+".")
}

// SetBy reports whether one of the owners is the component that should set the field. If the row
// names no component, every manager qualifies except before-first-apply and those of kubectl,
// because people use kubectl.
func (m SetByDesign) SetBy(owners []managedfields.Owner) bool {
	return slices.ContainsFunc(owners, func(o managedfields.Owner) bool {
		if m.by != "" {
			return o.Manager == m.by
		}
		return o.Manager != managedfields.BeforeFirstApply && !strings.HasPrefix(o.Manager, "kubectl")
	})
}

func fieldOf(p fieldpath.Path) string {
	var names []string
	for _, pe := range p {
		if pe.FieldName != nil {
			names = append(names, *pe.FieldName)
		}
	}
	return strings.Join(names, ".")
}
