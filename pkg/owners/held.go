package owners

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// manager is one of an object's managers.
type manager struct {
	name string
	// owners are the ways in which it holds fields: by applying, by updates, through
	// subresources. One of them may be at several API versions.
	owners []owner
	// fields is what it holds in all of these ways, written what of it did not come through
	// the subresource status.
	fields, written *fieldpath.Set
	// others is what all other managers hold.
	others *fieldpath.Set
}

// owner is a manager with one way of holding fields.
type owner struct {
	owner  managedfields.Owner
	fields *fieldpath.Set
}

// managersOf takes the entries of an object apart by their managers.
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

// walked is a field on the way through a set.
type walked struct {
	// path is valid during the call only.
	path fieldpath.Path
	// shared: others hold it, or something below it.
	shared bool
	// status: it is part of the status.
	status bool
}

// tally counts the fields of a set that can have an owner, and calls tell for each, unless
// it is nil.
func tally(own, others *fieldpath.Set, tell func(walked)) event.Fields {
	t := &tallying{tell: tell}
	t.below(nil, own, others, false)
	return t.held
}

type tallying struct {
	held event.Fields
	tell func(walked)
}

// below counts what lies below a path. Both sets are walked side by side, so that no path
// has to be looked up from the top.
func (t *tallying) below(path fieldpath.Path, own, others *fieldpath.Set, status bool) {
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
		t.below(append(path, pe), deeper, theirs, in)
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
	if t.tell != nil {
		t.tell(w)
	}
}
