// Package exclusive finds the fields that others have added to an object: the fields that other
// managers own and the manifest lacks. Start with [Additions]. The package sends no requests.
package exclusive

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Addition is a field, a list item, or a value with everything below it.
type Addition struct {
	Path  fieldpath.Path
	Value any
	// Owners are the managers that added it, sorted. They are empty if the API server has recorded no manager
	// of the object at all.
	Owners []managedfields.Owner
}

// Question selects the additions to find. Live and Manifest are required.
type Question struct {
	Live, Manifest *unstructured.Unstructured
	// Manager is our field manager.
	Manager string
	// Counts reports whether to look at what an owner added.
	Counts func(managedfields.Owner) bool
	// NamesOnly means that the manifest sets no field. Without any owner, the API server records no later
	// writer either, until a client applies a field: then it attributes all fields to before-first-apply. So
	// the fields of unknown writers are additions if Counts returns true for the zero owner.
	NamesOnly bool
	// Unrecorded contains the fields of an object without any owner, as the server reports them. If it is nil,
	// a list counts as one field, because the keys of its items are unknown.
	Unrecorded *fieldpath.Set
	// Sent is the manifest of an apply to the live object: our fields that it lacks will be released.
	// It is nil if the object is as an apply of ours has left it.
	Sent *unstructured.Unstructured
	// Created is the manifest as the server creates it; nil if unknown. A value that is also there is a
	// default, or admission adds it to every new object.
	Created *unstructured.Unstructured
	// ByDesign reports whether Kubernetes assigns a field to one of its owners. It may be nil.
	ByDesign func(path fieldpath.Path, owners []managedfields.Owner) bool
	// Left reports whether the user leaves the path to its owners. It may be nil.
	Left func(path fieldpath.Path, owners []managedfields.Owner) bool
}

// Additions returns what others have added to the live object, sorted by path. It leaves out what
// [Stays], and fields that may be defaults: the API server records a default as a field of the update
// that created the value around it (k/k#99003). With Created, it leaves out exactly the defaults. An
// error means that the managed fields are invalid.
func Additions(q Question) ([]Addition, error) {
	if !q.Concerns() {
		return nil, nil
	}
	entries, err := managedfields.Entries(q.Live)
	if err != nil {
		return nil, err
	}
	s := search{Question: q, ours: fieldpath.NewSet()}
	if len(entries) == 0 && q.NamesOnly {
		entries = []managedfields.Entry{managedfields.Unrecorded(q.Live)}
		if q.Unrecorded != nil {
			entries[0].Fields = q.Unrecorded
		}
	}
	for _, e := range entries {
		switch {
		case q.byUnknown(e.Owner):
			s.added, s.creators = append(s.added, e), append(s.creators, true)
		case e.Is(q.Manager) && q.Sent != nil:
		case e.Manager == q.Manager && e.Subresource == "":
			s.ours = s.ours.Union(e.Fields)
		case e.Subresource != "" || !q.Counts(e.Owner) || e.APIVersion != q.Live.GetAPIVersion():
			s.foreign = append(s.foreign, e) // Paths at another version are not comparable.
		default:
			s.added = append(s.added, e)
			s.creators = append(s.creators, e.Operation == managedfields.Update && (q.NamesOnly || s.created(e)))
		}
	}
	nodes, _ := managedfields.Tree(q.Live.Object, entries)
	for _, n := range nodes {
		s.visit(n)
	}
	slices.SortFunc(s.found, func(a, b Addition) int { return a.Path.Compare(b.Path) })
	return s.found, nil
}

// Concerns reports whether the object has an entry that counts. Most objects have none, so Concerns does
// not decode managed fields.
func (q Question) Concerns() bool {
	meta, _ := q.Live.Object["metadata"].(map[string]any)
	raw, _ := meta["managedFields"].([]any)
	if q.NamesOnly && q.Counts(managedfields.Owner{}) {
		return true
	}
	return slices.ContainsFunc(raw, func(v any) bool {
		e, _ := v.(map[string]any)
		manager, _ := e["manager"].(string)
		operation, _ := e["operation"].(string)
		subresource, _ := e["subresource"].(string)
		return subresource == "" && manager != q.Manager && q.Counts(managedfields.Owner{Manager: manager, Operation: operation})
	})
}

// byUnknown reports whether unknown writers have set the fields of an owner, and whether these fields count.
func (q Question) byUnknown(o managedfields.Owner) bool {
	return q.NamesOnly && o.Subresource == "" && (o.Manager == "" || o.Manager == managedfields.BeforeFirstApply) &&
		o.APIVersion == q.Live.GetAPIVersion() && q.Counts(managedfields.Owner{})
}

type search struct {
	Question
	ours *fieldpath.Set
	// added are the entries that count, and creators tells for each whether it created the object.
	// foreign are those of controllers and subresources.
	added, foreign []managedfields.Entry
	creators       []bool
	found          []Addition
}

// visit reports an addition at its highest node, with which the nodes below go too. It looks below a node
// that is declared or that the server has created in part.
func (s *search) visit(n managedfields.Node) {
	if fieldpath.IsKeyField(n.Path) || Stays(n.Path) {
		return
	}
	declared := s.declares(n.Path)
	isDefault, part := s.inCreated(n)
	if isDefault {
		return
	}
	if declared || !n.Ownable() || part || s.splits(n) {
		before := len(s.found)
		for _, below := range n.Below {
			s.visit(below)
		}
		if declared || part || !n.Ownable() || !s.leavesDefaults(n, s.found[before:]) {
			return
		}
		s.found = s.found[:before] // The map goes as a whole.
	}
	if s.isOthers(n.Path) || s.isByDesign(n.Path) {
		return
	}
	owners := s.owners(n.Path)
	if len(owners) == 0 {
		return
	}
	if owners[0].Manager == "" {
		owners = nil
	}
	if s.Left != nil && s.Left(n.Path, owners) {
		return
	}
	s.found = append(s.found, Addition{Path: n.Path, Value: n.Value, Owners: owners})
}

// declares reports whether the manifest has the path. The apply may send more than the manifest has,
// such as a label of the set.
func (s *search) declares(p fieldpath.Path) bool {
	_, declared := p.Get(s.Manifest.Object)
	if !declared && s.Sent != nil {
		_, declared = p.Get(s.Sent.Object)
	}
	return declared && !s.isBeside(p)
}

// inCreated reports whether a new object has the same value, or, if not, a value whose parts can be
// compared.
func (s *search) inCreated(n managedfields.Node) (same, part bool) {
	if s.Created == nil {
		return false, false
	}
	v, has := n.Path.Get(s.Created.Object)
	has = has && !s.isBeside(n.Path)
	return has && fieldpath.Equal(v, n.Value), has && len(n.Below) > 0
}

// splits reports whether the parts of a value that the manifest lacks are judged one by one: labels,
// annotations, items of lists, and values of which something stays.
func (s *search) splits(n managedfields.Node) bool {
	if len(n.Below) == 0 {
		return false
	}
	name, isField := n.FieldName()
	if _, isList := n.Value.([]any); isList || len(n.Path) == 1 || isField && isLabels(name) {
		return true
	}
	found := false
	managedfields.Walk(n.Below, func(below managedfields.Node) {
		found = found || Stays(below.Path) || s.isOthers(below.Path) || s.isByDesign(below.Path)
	})
	return found
}

// leavesDefaults reports whether only defaults without an owner would stay in a map that others have added.
// The server has set them because of the map, such as the defaults of a custom resource's spec.
func (s *search) leavesDefaults(n managedfields.Node, found []Addition) bool {
	if !slices.ContainsFunc(s.added, func(e managedfields.Entry) bool { return fieldpath.Has(e.Fields, n.Path) }) {
		return false
	}
	all := slices.Concat(s.added, s.foreign, []managedfields.Entry{{Fields: s.ours}})
	defaults := 0
	var goes func(n managedfields.Node) bool
	goes = func(n managedfields.Node) bool {
		switch {
		case slices.ContainsFunc(found, func(a Addition) bool { return a.Path.Equal(n.Path) }):
			return true
		case Stays(n.Path):
			return false
		case len(managedfields.HoldersOf(all, n.Path)) == 0:
			defaults++
			return true
		}
		return len(n.Below) > 0 && !slices.ContainsFunc(n.Below, func(below managedfields.Node) bool { return !goes(below) && !fieldpath.IsKeyField(below.Path) })
	}
	return !slices.ContainsFunc(n.Below, func(below managedfields.Node) bool { return !goes(below) }) && defaults > 0
}

// isOthers reports whether we, a controller or a subresource own something at or below the path.
func (s *search) isOthers(p fieldpath.Path) bool {
	return fieldpath.Holds(s.ours, p) || len(managedfields.HoldersOf(s.foreign, p)) > 0
}

// isByDesign reports whether Kubernetes assigns the field to one of its owners.
func (s *search) isByDesign(p fieldpath.Path) bool {
	return s.ByDesign != nil && s.ByDesign(p, managedfields.HoldersOf(s.added, p))
}

// owners returns the owners that added the path. It leaves out those for which the path may be a
// default.
func (s *search) owners(p fieldpath.Path) []managedfields.Owner {
	var out []managedfields.Owner
	for i, e := range s.added {
		if fieldpath.Holds(e.Fields, p) && !s.mayBeDefault(e, s.creators[i], p) {
			out = append(out, e.Owner)
		}
	}
	slices.SortFunc(out, managedfields.Owner.Compare)
	return out
}

// mayBeDefault reports whether the entry may own the path only because the server set a default when
// the entry created the value around it. The server adds no items to keyed lists, no labels or
// annotations, no data to a ConfigMap or a Secret, and nothing to a ServiceAccount.
func (s *search) mayBeDefault(e managedfields.Entry, creator bool, p fieldpath.Path) bool {
	if s.Created != nil || e.Operation == managedfields.Apply || p[len(p)-1].FieldName == nil || isLabel(p) || s.isData(p) {
		return false
	}
	for i := len(p) - 1; i > 0; i-- {
		if s.declares(p[:i]) && fieldpath.Has(e.Fields, p[:i]) {
			return true
		}
		if p[i-1].Key != nil {
			return false // Another manager created the item.
		}
	}
	return creator
}

// created reports whether the update that the entry records may have created the object: it created a
// map or a list item that the manifest has, too.
func (s *search) created(e managedfields.Entry) bool {
	found := false
	fieldpath.Each(e.Fields, func(p fieldpath.Path) {
		if found || *p[0].FieldName == "metadata" {
			return
		}
		if v, declared := p.Get(s.Manifest.Object); declared {
			found = p[len(p)-1].Key != nil || fieldpath.IsFilled(v)
		}
	})
	return found
}

func (s *search) isData(p fieldpath.Path) bool {
	switch s.Live.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}:
		return len(p) == 2 && (*p[0].FieldName == "data" || *p[0].FieldName == "binaryData")
	case schema.GroupKind{Kind: "ServiceAccount"}:
		return len(p) == 1
	}
	return false
}

func isLabel(p fieldpath.Path) bool {
	return len(p) > 1 && p[len(p)-2].FieldName != nil && isLabels(*p[len(p)-2].FieldName)
}

func isLabels(name string) bool { return name == "labels" || name == "annotations" }
