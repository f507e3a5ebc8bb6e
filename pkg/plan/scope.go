package plan

import (
	"cmp"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Resolve returns the item with the given kind and with the namespace that Build would have set.
// The Needs of other items still contain the item's key from the plan.
func (it Item) Resolve(kind object.Kind, o Options) (Item, error) {
	it.Kind = kind
	written := it.Namespace
	switch {
	case !it.known():
		return it, nil
	case !kind.Namespaced:
		it.Namespace = "" // Authors often add a namespace by mistake. kubectl ignores it, too.
	case written == "":
		it.Namespace = o.namespace()
	case o.Enforced && written != o.namespace():
		return it, it.fault(fmt.Sprintf("namespace %q in the manifest, but -n %s", written, o.namespace()), "",
			"without -n, the namespace in the manifest is used; a set is then in the context's namespace")
	}
	it.Object = inNamespace(it.Object, it.Namespace)
	return it, nil
}

func (it Item) known() bool { return !it.Kind.GVK.Empty() }

func (o Options) namespace() string {
	return cmp.Or(o.Namespace, "default")
}

// inNamespace returns an object with the given namespace, or without a namespace if the given one
// is empty. It copies only the parts of the object that it changes.
func inNamespace(u *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	old, _ := u.Object["metadata"].(map[string]any)
	written, has := old["namespace"]
	if has && written == namespace || !has && namespace == "" {
		return u
	}
	metadata := maps.Clone(old)
	if metadata == nil {
		metadata = map[string]any{}
	}
	delete(metadata, "namespace")
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	fields := maps.Clone(u.Object)
	fields["metadata"] = metadata
	return &unstructured.Unstructured{Object: fields}
}

type crd struct {
	key        object.Key
	namespaced bool
	served     map[string]bool // versions
}

// crdsOf returns the manifests' CRDs, keyed by the kinds that they declare. It skips incomplete
// CRDs, which the API server will refuse.
func crdsOf(manifests []object.Manifest) map[groupKind]crd {
	crds := map[groupKind]crd{}
	for _, m := range manifests {
		ref := m.Ref()
		if ref.GVK.GroupKind() != (groupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			continue
		}
		ref.Namespace = ""
		spec, _ := m.Object.Object["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		gk := groupKind{Group: text(spec, "group"), Kind: text(names, "kind")}
		if gk.Kind == "" || gk.Group == "" {
			continue
		}
		served := map[string]bool{}
		for _, version := range mapsOf(spec["versions"]) {
			if on, _ := version["served"].(bool); on {
				served[text(version, "name")] = true
			}
		}
		crds[gk] = crd{key: ref.Key(), namespaced: text(spec, "scope") == "Namespaced", served: served}
	}
	return crds
}
