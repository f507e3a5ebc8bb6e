package owners

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

type manager struct {
	name string
	// owners contains the manager's operations and subresources, possibly at several API versions.
	owners []owner
	// written contains the fields that the manager wrote outside the status subresource.
	fields, written *fieldpath.Set
	others          *fieldpath.Set
}

type owner struct {
	owner  managedfields.Owner
	fields *fieldpath.Set
}

func managersOf(entries []managedfields.Entry) []manager {
	var out []manager
	place := map[string]int{}
	for _, e := range entries {
		i, known := place[e.Manager]
		if !known {
			i = len(out)
			place[e.Manager] = i
			none := fieldpath.NewSet()
			out = append(out, manager{name: e.Manager, fields: none, written: none, others: none})
		}
		out[i].add(e)
	}
	for i := range out {
		for j := range out {
			if i != j {
				out[i].others = union(out[i].others, out[j].fields)
			}
		}
	}
	return out
}

func (m *manager) add(e managedfields.Entry) {
	m.fields = union(m.fields, e.Fields)
	if e.Subresource != "status" {
		m.written = union(m.written, e.Fields)
	}
	how := managedfields.Owner{Manager: e.Manager, Operation: e.Operation, Subresource: e.Subresource}
	for i := range m.owners {
		if m.owners[i].owner == how {
			m.owners[i].fields = union(m.owners[i].fields, e.Fields)
			return
		}
	}
	m.owners = append(m.owners, owner{how, e.Fields})
}

func union(a, b *fieldpath.Set) *fieldpath.Set {
	switch {
	case a.Empty():
		return b
	case b.Empty():
		return a
	default:
		return a.Union(b)
	}
}

type walked struct {
	// path is valid only during the call.
	path fieldpath.Path
	// shared means that others own the path or anything below it.
	shared bool
	status bool
}

// tally counts the fields in a set that can have an owner. Unless tell is nil, tally also calls it
// for each of these fields.
func tally(own, others *fieldpath.Set, report func(walked)) event.Fields {
	t := &tallying{report: report}
	t.countBelow(nil, own, others, false)
	return t.held
}

type tallying struct {
	held   event.Fields
	report func(walked)
}

// countBelow walks both sets in parallel, which avoids lookups from the root.
func (t *tallying) countBelow(path fieldpath.Path, own, others *fieldpath.Set, status bool) {
	for pe := range own.Members.All() {
		t.field(path, pe, others, status)
	}
	for pe := range own.Children.All() {
		deeper, _ := own.Children.Get(pe)
		var theirs *fieldpath.Set
		if others != nil {
			theirs, _ = others.Children.Get(pe)
		}
		in := status || len(path) == 0 && pe.FieldName != nil && *pe.FieldName == "status"
		t.countBelow(append(path, pe), deeper, theirs, in)
	}
}

func (t *tallying) field(path fieldpath.Path, pe fieldpath.Element, others *fieldpath.Set, status bool) {
	path = append(path, pe)
	if fieldpath.IsIdentity(path) {
		return
	}
	w := walked{path: path, status: status || len(path) == 1 && *pe.FieldName == "status"}
	if others != nil {
		deeper, below := others.Children.Get(pe)
		w.shared = others.Members.Has(pe) || below && !deeper.Empty()
	}
	t.held.All++
	if w.shared {
		t.held.Shared++
	}
	if t.report != nil {
		t.report(w)
	}
}

// ManagerError means that the given managers own none of the selected fields.
type ManagerError struct {
	Managers []string
	// Others are managers that own some of the selected fields.
	Others []string
}

func newManagerError(asked []string, all event.Owned) *ManagerError {
	e := &ManagerError{Managers: asked}
	managedfields.Walk(slices.Concat(all.Fields, all.Absent), func(n managedfields.Node) {
		for _, o := range n.Owners {
			if !slices.Contains(e.Others, o.Manager) {
				e.Others = append(e.Others, o.Manager)
			}
		}
	})
	slices.Sort(e.Others)
	return e
}

func (e *ManagerError) Error() string {
	if len(e.Managers) == 1 {
		return fmt.Sprintf("the manager %s owns none of its fields", e.Managers[0])
	}
	return "none of these managers owns any of its fields: " + strings.Join(e.Managers, ", ")
}

// Hint names the managers that own some of the selected fields.
func (e *ManagerError) Hint() string {
	if len(e.Others) == 0 {
		return "no manager does"
	}
	return "managers that do: " + strings.Join(e.Others, ", ")
}

// holdingsOf counts fields by owner, the owner of most first. Fields without an owner come last, because they
// are mostly defaults.
func holdingsOf(nodes []managedfields.Node) []event.Holding {
	var out []event.Holding
	count := func(o managedfields.Owner) {
		i := slices.IndexFunc(out, func(s event.Holding) bool { return s.Owner == o })
		if i < 0 {
			i, out = len(out), append(out, event.Holding{Owner: o})
		}
		out[i].Fields++
	}
	managedfields.Walk(nodes, func(n managedfields.Node) {
		switch {
		case !n.Ownable():
		case len(n.Owners) == 0 && len(n.Below) == 0:
			count(managedfields.Owner{})
		default:
			for _, o := range n.Owners {
				count(o)
			}
		}
	})
	slices.SortStableFunc(out, func(a, b event.Holding) int {
		none := managedfields.Owner{}
		switch {
		case a.Owner == none && b.Owner != none:
			return 1
		case a.Owner != none && b.Owner == none:
			return -1
		}
		return cmp.Or(cmp.Compare(b.Fields, a.Fields), cmp.Compare(a.Owner.Manager, b.Owner.Manager))
	})
	return out
}

// ownedBy returns the nodes that the managers own, with their parents. List items keep their key
// fields.
func ownedBy(nodes []managedfields.Node, managers []string) []managedfields.Node {
	var out []managedfields.Node
	for _, n := range nodes {
		below := ownedBy(n.Below, managers)
		its := slices.ContainsFunc(n.Owners, func(o managedfields.Owner) bool { return slices.Contains(managers, o.Manager) })
		switch _, isField := n.FieldName(); {
		case !its && len(below) == 0:
			continue
		case len(n.Below) > 0 && !isField:
			n.Below = withKey(n, below)
		case len(below) > 0:
			n.Below = below
		case len(n.Below) > 0:
			n.Below, n.Value = nil, emptied(n.Value)
		}
		out = append(out, n)
	}
	return out
}

// withKey adds the item's key fields, in the order in which the item has them.
func withKey(item managedfields.Node, fields []managedfields.Node) []managedfields.Node {
	var out []managedfields.Node
	for _, n := range item.Below {
		i := slices.IndexFunc(fields, func(f managedfields.Node) bool { return f.Path.Equal(n.Path) })
		switch {
		case i >= 0:
			out = append(out, fields[i])
		case n.IsKeyOf(item):
			out = append(out, n)
		}
	}
	return out
}

func emptied(v any) any {
	switch v.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	default:
		return v
	}
}
