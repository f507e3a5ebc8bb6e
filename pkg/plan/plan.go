package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options are what Build has to know besides the manifests.
type Options struct {
	// Kinds that the cluster serves, of those that the manifests name. A kind
	// that is missing here is looked for among the definitions of the set.
	Kinds map[schema.GroupVersionKind]object.Kind
	// Namespace for objects of namespaced kinds that name none.
	Namespace string
	// Enforced makes another namespace in a manifest an error: the user gave -n.
	Enforced bool
}

// Plan is a set of objects in order.
type Plan struct {
	Phases []Phase
}

// Phase is objects that may be applied side by side.
type Phase struct {
	// Name for people: "definitions", "configuration", "workloads", …
	Name  string
	Items []Item
}

// Item is one object with its scope settled: the namespace is set where the
// kind has one, and unset where it has none.
type Item struct {
	object.Ref
	Source object.Source
	// Object is the manifest as it is to be sent.
	Object *unstructured.Unstructured
	// Kind as the cluster serves it; its Resource is empty where the cluster does
	// not serve it yet.
	Kind object.Kind
	// Needs are objects of earlier phases without which this one can not be:
	// its namespace, its definition, what its depends-on annotation names.
	Needs []object.Key
}
