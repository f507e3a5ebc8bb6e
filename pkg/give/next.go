package give

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Next is what a tool is to apply next, held against the objects that it lists.
type Next struct {
	// Targets are the listed objects that the manifests have, as those state them.
	Targets []Target
	// Gone are listed and not in the manifests: the next run deletes them rather than owns them.
	Gone []object.Ref
	// Beyond is how many objects of the manifests are not listed.
	Beyond int
}

// Meet puts the manifests of a tool's next run to the objects that it lists. One without a
// namespace is the listed one of its kind and name. kindOf says how a kind is served at a version,
// and applied makes what is applied of what was rendered.
func Meet(
	listed []Target, manifests []object.Manifest,
	kindOf func(schema.GroupVersionKind) (object.Kind, error), applied func(*unstructured.Unstructured) *unstructured.Unstructured,
) (Next, error) {
	// identity is what an object is called at any version.
	type identity struct {
		kind            schema.GroupKind
		namespace, name string
	}
	stated := map[identity]*unstructured.Unstructured{}
	for _, m := range manifests {
		u := m.Object
		stated[identity{u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName()}] = u
	}
	var next Next
	var faults []error
	for _, t := range listed {
		at := identity{t.Ref.GVK.GroupKind(), t.Ref.Namespace, t.Ref.Name}
		if stated[at] == nil {
			at.namespace = ""
		}
		u := stated[at]
		if u == nil {
			next.Gone = append(next.Gone, t.Ref)
			continue
		}
		delete(stated, at)
		kind, err := kindOf(u.GroupVersionKind())
		if err != nil {
			faults = append(faults, err)
			continue
		}
		u = applied(u.DeepCopy())
		u.SetNamespace(t.Ref.Namespace)
		t.Kind, t.Ref.GVK, t.Stated = kind, kind.GVK, u
		next.Targets = append(next.Targets, t)
	}
	next.Beyond = len(stated)
	return next, errors.Join(faults...)
}
