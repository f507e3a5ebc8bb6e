package managedfields

import (
	"cmp"
	"maps"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Tree returns all fields of an object with their owners, except managedFields
// itself, in reading order: the object's identity first, in each list item its key,
// and the status last. Every path in an entry is the path of exactly one node;
// those that the object does not have come separately, as absent. Paths of another
// API version than the object's are looked up as if they were of that version.
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

// rank orders the top-level fields of an object.
func rank(n Node) int {
	order := []string{"apiVersion", "kind", "metadata", "", "status"}
	if i := slices.Index(order, *n.last().FieldName); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// holding is what an owner holds below some path.
type holding struct {
	owner Owner
	set   *fieldpath.Set
}

type treeBuilder struct {
	absent []Node
}

// fields returns the nodes of a map.
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

// items returns the nodes of a list, with the items identified as its owners
// identify them.
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

// keyRank puts the fields of a key before all others, and a name first, since
// readers look for it.
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

// node returns one node, and the nodes below it if any of those has an owner.
func (b *treeBuilder) node(p fieldpath.Path, pe fieldpath.Element, v any, held []holding) Node {
	n := Node{Path: p.Child(pe), Value: v, Owners: membersAt(held, pe)}
	below := heldBelow(held, pe)
	sets := make([]*fieldpath.Set, len(below))
	for i, h := range below {
		sets[i] = h.set
	}
	shape := fieldpath.ShapeOf(sets...)
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

// missing records the paths that are held below p at elements that the object does
// not have.
func (b *treeBuilder) missing(p fieldpath.Path, held []holding, has func(fieldpath.Element) bool) {
	sets := make([]*fieldpath.Set, len(held))
	for i, h := range held {
		sets[i] = h.set
	}
	for _, pe := range fieldpath.Elements(sets...) {
		if has(pe) {
			continue
		}
		if owners := membersAt(held, pe); len(owners) > 0 {
			b.absent = append(b.absent, Node{Path: p.Child(pe), Owners: owners, Absent: true})
		}
		b.missing(p.Child(pe), heldBelow(held, pe), none)
	}
}

func none(fieldpath.Element) bool { return false }

// membersAt returns, sorted, the owners of one element.
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

// heldBelow returns what is held below one element.
func heldBelow(held []holding, pe fieldpath.Element) []holding {
	var below []holding
	for _, h := range held {
		if set, ok := h.set.Children.Get(pe); ok && !set.Empty() {
			below = append(below, holding{h.owner, set})
		}
	}
	return below
}
