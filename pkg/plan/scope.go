package plan

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Resolve returns the item with its kind once the cluster serves it. It sets the namespace as Build
// would have done, with the same error. Needs of other items keep its key from the plan.
func (it Item) Resolve(kind object.Kind, o Options) (Item, error) {
	return it.settle(kind, o)
}

// known reports whether the scope is known.
func (it Item) known() bool { return !it.Kind.GVK.Empty() }

// settle gives the item its kind, which may be unknown, and its namespace.
func (it Item) settle(kind object.Kind, o Options) (Item, error) {
	it.Kind = kind
	written := it.Namespace
	switch {
	case !it.known():
		return it, nil
	case !kind.Namespaced:
		// As kubectl does: authors copy the namespace along, and it means nothing.
		it.Namespace = ""
	case written == "":
		it.Namespace = o.namespace()
	case o.Enforced && written != o.namespace():
		return it, it.fault(fmt.Sprintf("namespace %q in the manifest, but -n %s", written, o.namespace()), "",
			"without -n, the namespace in the manifest is used")
	}
	it.Object = inNamespace(it.Object, it.Namespace)
	return it, nil
}

// fieldsIn returns what the manifest would say in a namespace.
func (it Item) fieldsIn(namespace string) map[string]any {
	return inNamespace(it.Object, namespace).Object
}

func (o Options) namespace() string {
	if o.Namespace == "" {
		return "default"
	}
	return o.Namespace
}

// inNamespace returns the object with this namespace, or with none. It copies only the changed
// part.
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

// crd is the part of a CustomResourceDefinition that the plan needs.
type crd struct {
	key        object.Key
	namespaced bool
	served     map[string]bool // versions
}

// crdsOf reads the CRDs of a set. It ignores incomplete ones, which the API server will report.
func crdsOf(manifests []object.Manifest) map[groupKind]crd {
	crds := map[groupKind]crd{}
	for _, m := range manifests {
		ref := m.Ref()
		if ref.GVK.GroupKind() != crdKind() {
			continue
		}
		ref.Namespace = ""
		spec, _ := m.Object.Object["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		gk := groupKind{Group: text(spec, "group"), Kind: text(names, "kind")}
		if gk.Kind == "" || gk.Group == "" {
			continue
		}
		crds[gk] = crd{
			key:        ref.Key(),
			namespaced: text(spec, "scope") == "Namespaced",
			served:     servedVersions(spec),
		}
	}
	return crds
}

func servedVersions(spec map[string]any) map[string]bool {
	served := map[string]bool{}
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if on, _ := version["served"].(bool); on {
			served[text(version, "name")] = true
		}
	}
	return served
}
