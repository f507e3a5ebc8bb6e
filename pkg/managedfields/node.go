package managedfields

import (
	"slices"
	"strconv"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Node is a field of an object with its owners.
type Node struct {
	Path  fieldpath.Path
	Value any
	// Owners hold the path itself, sorted; fields below have owners of their own.
	Owners []Owner
	// Below holds the parts of the value if they have owners of their own. If it is empty,
	// the value is owned as one: a scalar, an atomic list or map, an empty value, or one
	// without owners anywhere in it.
	Below []Node
	// Absent is set if the path has an owner, but the object does not have it at this API
	// version.
	Absent bool
}

// Ownable reports whether the node's path can have an owner. The object's identity cannot,
// and neither can what the API server keeps for itself, such as the resource version.
func (n Node) Ownable() bool { return !fieldpath.IsIdentity(n.Path) }

// Walk calls visit for the nodes and for all below them, parents first.
func Walk(nodes []Node, visit func(Node)) {
	for _, n := range nodes {
		visit(n)
		Walk(n.Below, visit)
	}
}

// At returns the node at a path. If the path leads into a value that is owned as one, At
// returns the node of that value. A list item may be named as [fieldpath.Path.Get] allows,
// and by its position as well.
func At(nodes []Node, p fieldpath.Path) (Node, bool) {
	var at Node
	for i, pe := range p {
		next := childAt(nodes, pe)
		if next < 0 {
			return at, i > 0 && len(at.Below) == 0 && at.Ownable() && at.contains(p[i:])
		}
		at = nodes[next]
		nodes = at.Below
	}
	return at, len(p) > 0
}

// contains reports whether the node's value has anything at a path.
func (n Node) contains(p fieldpath.Path) bool {
	const field = "v"
	if _, ok := p.GetIn(n.Value); ok {
		return true
	}
	_, ok := append(fieldpath.Field(field), p...).ByKey(map[string]any{field: n.Value})
	return ok
}

// childAt returns the index of the node with the element at the end of its path,
// or -1.
func childAt(nodes []Node, pe fieldpath.Element) int {
	if len(nodes) == 0 {
		return -1
	}
	if i := pe.Index; i != nil {
		if nodes[0].last().FieldName == nil {
			if *i >= 0 && *i < len(nodes) {
				return *i
			}
			return -1
		}
		pe = fieldpath.FieldElement(strconv.Itoa(*i)) // a key that looks like a number
	}
	if i := slices.IndexFunc(nodes, func(n Node) bool { return n.last().Equals(pe) }); i >= 0 || pe.Key == nil {
		return i
	}
	items := make([]any, len(nodes))
	for i, n := range nodes {
		items[i] = n.Value
	}
	return fieldpath.Find(items, pe)
}

func (n Node) last() fieldpath.Element { return n.Path[len(n.Path)-1] }

// FieldName returns the name of the node if it is a field of a map; otherwise it is an
// item of a list.
func (n Node) FieldName() (string, bool) {
	if name := n.last().FieldName; name != nil {
		return *name, true
	}
	return "", false
}

// IsKeyOf reports whether the node is a field of the key that identifies an item of a
// list.
func (n Node) IsKeyOf(item Node) bool {
	name, isField := n.FieldName()
	key := item.last().Key
	if !isField || key == nil {
		return false
	}
	for _, field := range *key {
		if field.Name == name {
			return true
		}
	}
	return false
}
