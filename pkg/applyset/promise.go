package applyset

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Promise says where members of a set may be: in these kinds and, where a kind has
// namespaces, in these. Both are sorted, and have nothing twice.
type Promise struct {
	Kinds      []schema.GroupKind
	Namespaces []string
}

// PromiseOf returns the smallest promise that covers the objects.
func PromiseOf(refs []object.Ref) Promise {
	var p Promise
	for _, ref := range refs {
		p.Kinds = append(p.Kinds, ref.GVK.GroupKind())
		if ref.Namespace != "" {
			p.Namespaces = append(p.Namespaces, ref.Namespace)
		}
	}
	return p.sorted()
}

// Union returns the smallest promise that covers what either covers.
func (p Promise) Union(q Promise) Promise {
	return Promise{Kinds: slices.Concat(p.Kinds, q.Kinds), Namespaces: slices.Concat(p.Namespaces, q.Namespaces)}.sorted()
}

// Equal reports whether both are the same promise.
func (p Promise) Equal(q Promise) bool {
	return slices.Equal(p.Kinds, q.Kinds) && slices.Equal(p.Namespaces, q.Namespaces)
}

func (p Promise) sorted() Promise {
	slices.SortFunc(p.Kinds, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	slices.Sort(p.Namespaces)
	return Promise{Kinds: slices.Compact(p.Kinds), Namespaces: slices.Compact(p.Namespaces)}
}
