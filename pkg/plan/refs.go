package plan

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/object"

// Refs returns the references of the phase's objects, in order.
func (p Phase) Refs() []object.Ref {
	refs := make([]object.Ref, len(p.Items))
	for i, item := range p.Items {
		refs[i] = item.Ref
	}
	return refs
}
