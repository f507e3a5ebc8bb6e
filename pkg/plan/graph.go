package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// builder holds the set as a graph: nodes are items, edges are needs.
type builder struct {
	options     Options
	definitions map[groupKind]definition
	nodes       []node
	index       map[object.Key]int
	// but are the objects to leave out; faulty are those found to be at fault.
	but, faulty map[object.Key]bool
	warnings    []Warning
	operatorsOf map[string][]object.Key // by API group; a cache
}

type node struct {
	Item
	needs []int
	place place
}

// identity is the key under which an item is found. If the scope is unknown, the
// item counts as namespaced: two of them with the same key are one object, whichever
// scope the kind turns out to have.
func (b *builder) identity(it Item) object.Key {
	key := it.Key()
	if !it.known() && key.Namespace == "" {
		key.Namespace = b.options.namespace()
	}
	return key
}

// find looks up an object by the name that a manifest gives it. One whose scope is
// still unknown may be named either way.
func (b *builder) find(key object.Key) (int, bool) {
	i, ok := b.index[key]
	if ok || key.Namespace != "" {
		return i, ok
	}
	key.Namespace = b.options.namespace()
	i, ok = b.index[key]
	return i, ok && !b.nodes[i].known()
}

func (b *builder) need(i, on int) {
	n := &b.nodes[i]
	if !slices.Contains(n.needs, on) {
		n.needs = append(n.needs, on)
		n.Needs = append(n.Needs, b.nodes[on].Key())
	}
}

// kind returns what is known of a kind: what the cluster says, or what a definition
// of the set says, or nothing.
func (b *builder) kind(gvk schema.GroupVersionKind) object.Kind {
	if kind, ok := b.options.Kinds[gvk]; ok {
		kind.GVK = gvk
		return kind
	}
	if d, ok := b.definitions[gvk.GroupKind()]; ok && d.served[gvk.Version] {
		return object.Kind{GVK: gvk, Namespaced: d.namespaced}
	}
	return object.Kind{}
}
