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
	// Namespace for objects of namespaced kinds that name none. Empty stands for
	// "default".
	Namespace string
	// Enforced makes another namespace in a manifest an error: the user gave -n.
	Enforced bool
	// SkipInvalid leaves out the objects at fault, and tells them in
	// [Plan].Invalid, where they otherwise fail the plan. A circle of needs always
	// does.
	SkipInvalid bool
}

// Plan is a set of objects in order.
type Plan struct {
	// Phases, none of them empty.
	Phases []Phase
	// Warnings, in the order of the input.
	Warnings []Warning
	// Invalid are the faults of the objects that were left out, with
	// [Options].SkipInvalid.
	Invalid []error
}

// Phase is objects that may be applied side by side.
type Phase struct {
	// Name for people, unique in the plan: "definitions", "configuration",
	// "workloads", "workloads 2", …
	Name string
	// Items in the order of the input.
	Items []Item
}

// Item is one object with its scope settled: the namespace is set where the
// kind has one, and unset where it has none. Where the scope is not known, the
// namespace is as written until [Item.Resolve].
type Item struct {
	object.Ref
	Source object.Source
	// Object is the manifest as it is to be sent. It shares its values with the
	// manifest: who changes it makes a copy.
	Object *unstructured.Unstructured
	// Kind as the cluster serves it. Its Resource is empty where the cluster does
	// not serve it yet; all of it is, where no definition in the set tells of it
	// either.
	Kind object.Kind
	// Needs are objects of earlier phases without which this one cannot be: its
	// namespace, its definition, what the API server looks up when it is written,
	// what its depends-on annotation names. Only objects of the set are here.
	Needs []object.Key
	// Bringers are objects of the set that may make the server serve the kind, where
	// it does not do so yet. Without any there is no point in waiting for it.
	Bringers []object.Key
	// OnlyIn are the versions in which a definition of the set has the kind, where it
	// lacks the one that the object is written in.
	OnlyIn []string
}

// Warning is something that does not keep an object from being applied.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	// Text is one line; it names neither Ref nor Source.
	Text string
}
