// Package plan orders objects into phases; objects of one phase may be applied in parallel. Start
// with [Build]. A class is the earliest place of an object (CRDs and namespaces, configuration,
// network, workloads, webhooks, unknown kinds), and a need outranks it. It is pure: kinds come in,
// nothing is read or sent.
package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options are what Build needs besides the manifests.
type Options struct {
	// Kinds that the cluster serves, among those in the manifests. A kind that is
	// missing here is looked up in the definitions of the set.
	Kinds map[schema.GroupVersionKind]object.Kind
	// Namespace for objects of namespaced kinds that name none. Empty stands for
	// "default".
	Namespace string
	// Enforced makes another namespace in a manifest an error: the user gave -n.
	Enforced bool
	// SkipInvalid leaves out the objects at fault and lists them in [Plan].Invalid
	// instead of failing the plan. A cycle of needs always fails it.
	SkipInvalid bool
	// LastWins keeps the last of several manifests of one object, with a warning, as
	// kubectl does; otherwise different content is a fault.
	LastWins bool
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

// Phase is a group of objects that may be applied in parallel.
type Phase struct {
	// Name for people, unique in the plan: "CRDs and namespaces", "configuration",
	// "workloads", "workloads 2", …
	Name string
	// Items in the order of the input.
	Items []Item
}

// Refs returns the references of the phase's objects, in order.
func (p Phase) Refs() []object.Ref {
	refs := make([]object.Ref, len(p.Items))
	for i, item := range p.Items {
		refs[i] = item.Ref
	}
	return refs
}

// Item is one object with its scope settled: the namespace is set if the kind has
// one, and unset if it has none. If the scope is unknown, the namespace is as written
// until [Item.Resolve].
type Item struct {
	object.Ref
	Source object.Source
	// Object is the manifest as it will be sent. It shares its values with the
	// manifest: callers that change it make a copy.
	Object *unstructured.Unstructured
	// Kind as the cluster serves it. Its Resource is empty if the cluster does not
	// serve it yet; all of it is empty if no definition in the set has it either.
	Kind object.Kind
	// Needs are objects of earlier phases without which this one cannot exist: its
	// namespace, its definition, what the API server looks up when it is written,
	// what its depends-on annotation names. Only objects of the set are listed.
	Needs []object.Key
	// Bringers are objects of the set that may make the server serve the kind, if it
	// does not do so yet. Without any there is no point in waiting for it.
	Bringers []object.Key
	// OnlyIn are the versions in which a definition in the set has the kind, if it
	// lacks the one that the object is written in.
	OnlyIn []string
}

// Warning is something that does not keep an object from being applied.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	// Text is one line; it names neither Ref nor Source. Detail ends it, and is about this object
	// alone.
	Text, Detail string
}
