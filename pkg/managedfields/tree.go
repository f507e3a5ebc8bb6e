package managedfields

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Tree returns all fields of an object except managedFields, with their owners. The order is meant
// for readers: the object's identity comes first, the key comes first in each list item, and the
// status comes last. Each path of an entry is the path of exactly one node. absent lists the paths
// that have an owner but are not in the object. Paths at another API version are looked up as if
// they were at the object's version.
func Tree(object map[string]any, entries []Entry) (fields, absent []Node) {
	b := &treeBuilder{}
	held := make([]holding, len(entries))
	for i, e := range entries {
		held[i] = holding{e.Owner, e.Fields}
	}
	fields = b.fields(nil, object, held)
	slices.SortStableFunc(fields, func(x, y Node) int { return cmp.Compare(rank(x), rank(y)) })
	slices.SortFunc(b.absent, func(x, y Node) int { return x.Path.Compare(y.Path) })
	return fields, b.absent
}

func rank(n Node) int {
	order := []string{"apiVersion", "kind", "metadata", "", "status"}
	if i := slices.Index(order, *n.last().FieldName); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

type holding struct {
	owner Owner
	set   *fieldpath.Set
}

type treeBuilder struct {
	absent []Node
}

func (b *treeBuilder) fields(p fieldpath.Path, m map[string]any, held []holding) []Node {
	nodes := make([]Node, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if len(p) == 1 && *p[0].FieldName == "metadata" && name == "managedFields" {
			continue
		}
		nodes = append(nodes, b.node(p, fieldpath.Element{FieldName: &name}, m[name], held))
	}
	b.missing(p, held, func(pe fieldpath.Element) bool {
		if pe.FieldName == nil {
			return false
		}
		_, has := m[*pe.FieldName]
		return has
	})
	return nodes
}

func (b *treeBuilder) items(p fieldpath.Path, list []any, held []holding) []Node {
	all := fieldpath.NewSet()
	for _, h := range held {
		all = all.Union(h.set)
	}
	at := fieldpath.ItemsOf(all)
	nodes := make([]Node, 0, len(list))
	var found fieldpath.Set
	for i, item := range list {
		pe, ok := at.Held(item, list)
		if !ok {
			if pe, _, ok = at.Element(item); !ok || pe.Key != nil && len(*pe.Key) == 0 {
				pe = fieldpath.Element{Index: &i}
			}
		}
		n := b.node(p, pe, item, held)
		slices.SortStableFunc(n.Below, func(x, y Node) int { return cmp.Compare(keyRank(x, at), keyRank(y, at)) })
		nodes = append(nodes, n)
		found.Members.Insert(pe)
	}
	b.missing(p, held, found.Members.Has)
	return nodes
}

// keyRank puts the name before other key fields, because that is what readers look for.
func keyRank(n Node, at fieldpath.Items) int {
	switch name := *n.last().FieldName; {
	case !at.IsKey(name):
		return 2
	case name == "name":
		return 0
	default:
		return 1
	}
}

func (b *treeBuilder) node(p fieldpath.Path, pe fieldpath.Element, v any, held []holding) Node {
	n := Node{Path: p.Child(pe), Value: v, Owners: membersAt(held, pe)}
	below := heldBelow(held, pe)
	shape := fieldpath.ShapeOf(setsOf(below)...)
	switch v := v.(type) {
	case map[string]any:
		if shape == fieldpath.Fields || len(n.Path) == 1 && *pe.FieldName == "metadata" {
			n.Below = b.fields(n.Path, v, below)
			return n
		}
	case []any:
		if shape == fieldpath.Keyed || shape == fieldpath.Values {
			n.Below = b.items(n.Path, v, below)
			return n
		}
	}
	b.missing(n.Path, below, none)
	return n
}

func (b *treeBuilder) missing(p fieldpath.Path, held []holding, has func(fieldpath.Element) bool) {
	for _, pe := range fieldpath.Elements(setsOf(held)...) {
		if has(pe) {
			continue
		}
		if owners := membersAt(held, pe); len(owners) > 0 {
			b.absent = append(b.absent, Node{Path: p.Child(pe), Owners: owners, Absent: true})
		}
		b.missing(p.Child(pe), heldBelow(held, pe), none)
	}
}

func setsOf(held []holding) []*fieldpath.Set {
	sets := make([]*fieldpath.Set, len(held))
	for i, h := range held {
		sets[i] = h.set
	}
	return sets
}

func none(fieldpath.Element) bool { return false }

func membersAt(held []holding, pe fieldpath.Element) []Owner {
	var owners []Owner
	for _, h := range held {
		if h.set.Members.Has(pe) {
			owners = append(owners, h.owner)
		}
	}
	slices.SortFunc(owners, Owner.Compare)
	return owners
}

func heldBelow(held []holding, pe fieldpath.Element) []holding {
	var below []holding
	for _, h := range held {
		if set, ok := h.set.Children.Get(pe); ok && !set.Empty() {
			below = append(below, holding{h.owner, set})
		}
	}
	return below
}

// Node is a field of an object with its owners.
type Node struct {
	Path  fieldpath.Path
	Value any
	// Owners are the owners of the path itself, sorted. Fields below it have their own owners.
	Owners []Owner
	// Below contains all parts of the value if they are owned separately, including parts without
	// an owner. If Below is empty, the value is owned as a whole (a scalar, an atomic list or map,
	// or an empty list or map), or has no owner.
	Below []Node
	// Absent means that the path has an owner but does not exist in the object at this API version.
	Absent bool
}

// Ownable reports whether the path can have an owner. The object's identity and fields that the API
// server sets, such as the resource version, cannot.
func (n Node) Ownable() bool { return !fieldpath.IsIdentity(n.Path) }

// Walk calls visit for each node and all nodes below it, parents first.
func Walk(nodes []Node, visit func(Node)) {
	for _, n := range nodes {
		visit(n)
		Walk(n.Below, visit)
	}
}

// At returns the node at a path. If the path is inside a value that is owned as a whole, At returns
// the node of that value. A list item may be named as in [fieldpath.Path.Get], or by position.
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

func (n Node) contains(p fieldpath.Path) bool {
	const field = "v"
	if _, ok := p.GetIn(n.Value); ok {
		return true
	}
	_, ok := append(fieldpath.Field(field), p...).ByKey(map[string]any{field: n.Value})
	return ok
}

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
		pe = fieldpath.FieldElement(strconv.Itoa(*i)) // A key that looks like a number.
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

// FieldName returns the name of a map field, and false for a list item.
func (n Node) FieldName() (string, bool) {
	if name := n.last().FieldName; name != nil {
		return *name, true
	}
	return "", false
}

// IsKeyOf reports whether the node is a key field of a list item.
func (n Node) IsKeyOf(item Node) bool {
	name, isField := n.FieldName()
	return isField && slices.Contains(fieldpath.KeyNames(item.last()), name)
}
