package predict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// comparison finds the values that an object has otherwise than they were sent.
type comparison struct {
	sent, answer *unstructured.Unstructured
	// builtIn means that the kind is one of Kubernetes' own. types is nil if no type is known.
	builtIn bool
	types   *openapi.Schema
	out     []managedfields.Change
}

// leaf compares the value at a path that the apply owns.
func (c *comparison) leaf(p fieldpath.Path) {
	from, declared := p.Get(c.sent.Object)
	if !declared {
		return
	}
	switch to, there := p.Get(c.answer.Object); {
	case !there:
		c.lacks(p, from)
	case !c.isStored(p, from, to):
		c.add(p, from, to, managedfields.Changed)
	case !c.isExact(p):
		c.unnamed(p, from, to)
	}
}

// unnamed finds fields that items of an atomic list lack. The server keeps the order of such a list, so the
// items need no name; those that have one are left to [Dropped].
func (c *comparison) unnamed(p fieldpath.Path, from, to any) {
	switch from := from.(type) {
	case map[string]any:
		to, _ := to.(map[string]any)
		for name, v := range from {
			field := p.Child(fieldpath.FieldElement(name))
			stored, has := to[name]
			switch {
			case has:
				c.unnamed(field, v, stored)
			case p.Positional() && !fieldpath.IsZero(v):
				c.add(field, v, nil, managedfields.Removed)
			}
		}
	case []any:
		to, _ := to.([]any)
		for i, item := range from {
			if _, isMap := item.(map[string]any); isMap && nameIn(item) == "" && i < len(to) {
				c.unnamed(p.Child(fieldpath.Element{Index: &i}), item, to[i])
			}
		}
	}
}

func (c *comparison) add(p fieldpath.Path, from, to any, kind managedfields.ChangeKind) {
	// The leaves of an item, or of a value with another type, come one after the other.
	if n := len(c.out); n == 0 || !c.out[n-1].Path.Equal(p) {
		c.out = append(c.out, managedfields.Change{Path: p.Clone(), From: from, To: to, Kind: kind})
	}
}

// lacks reports why the object has no value at the path: a parent has another type, or a list lacks the
// item, or the field was removed. The server omits zero values, except in custom resources.
func (c *comparison) lacks(p fieldpath.Path, from any) {
	for n := 1; n <= len(p); n++ {
		if _, there := p[:n].Get(c.answer.Object); there {
			continue
		}
		parentFrom, _ := p[:n-1].Get(c.sent.Object)
		parentTo, _ := p[:n-1].Get(c.answer.Object)
		switch {
		case n > 1 && parentTo != nil && !sameSort(parentFrom, parentTo):
			c.add(p[:n-1], parentFrom, parentTo, managedfields.Changed)
		case p[n-1].FieldName == nil && p[n-1].Index == nil:
			item, _ := p[:n].Get(c.sent.Object)
			c.add(p[:n], item, nil, managedfields.Removed)
		case from == nil || fieldpath.IsEmpty(from):
		case c.list(p, n) < len(p):
			at := p[:c.list(p, n)]
			list, _ := at.Get(c.sent.Object)
			c.add(at, list, nil, managedfields.Removed)
		case !fieldpath.IsZero(from) || c.isExact(p):
			c.add(p, from, nil, managedfields.Removed)
		}
		return
	}
}

// list returns the length of the part of a path that leads to a sent list, from a length on; the whole length
// if there is none.
func (c *comparison) list(p fieldpath.Path, from int) int {
	for n := from; n < len(p); n++ {
		v, _ := p[:n].Get(c.sent.Object)
		if _, is := v.([]any); is {
			return n
		}
	}
	return len(p)
}

// sameSort reports whether both values are maps, both are lists, or both are scalars.
func sameSort(a, b any) bool {
	_, aMap := a.(map[string]any)
	_, bMap := b.(map[string]any)
	return aMap == bMap && fieldpath.IsContainer(a) == fieldpath.IsContainer(b)
}

// isStored reports whether the object has the sent value, perhaps with defaults or in the server's own
// spelling.
func (c *comparison) isStored(p fieldpath.Path, from, to any) bool {
	switch {
	case fieldpath.Equal(from, to):
		return true
	case from == nil: // The server replaces null by the default, unless it is a value in the schema.
		return !c.isExact(p) || completed(from, to, c.types.At(p))
	case !sameSort(from, to):
		return false
	case fieldpath.IsEmpty(from) && !c.isAtomic(p, from):
		return true // Others and the server own what they have added.
	case c.isExact(p):
		return completed(from, to, c.types.At(p))
	case fieldpath.IsContainer(from):
		return noop.MayComplete(from, to) && (!c.builtIn || !hasMore(p, from, to))
	}
	return c.isSpelling(p, from, to)
}

// isSpelling reports whether the API server may have decoded a scalar and written it in its own spelling.
func (c *comparison) isSpelling(p fieldpath.Path, from, to any) bool {
	t := c.types.At(p)
	if t == nil || t.Name() != "" {
		return sameText(from, to)
	}
	if b, ok := t.(interface{ Bytes() bool }); ok && !b.Bytes() {
		return false
	}
	return sameText(from, to)
}

// hasMore reports whether an atomic list of one of Kubernetes' own kinds has more items than were sent, other
// than those that the API server itself adds.
func hasMore(p fieldpath.Path, from, to any) bool {
	sent, isList := from.([]any)
	stored, _ := to.([]any)
	last := p[len(p)-1]
	if !isList || len(stored) <= len(sent) || last.FieldName == nil {
		return false
	}
	// Tolerations come from the plugin DefaultTolerationSeconds, taints from TaintNodesByCondition, and the
	// second family and address from the allocation of a dual-stack Service.
	return !slices.Contains([]string{"tolerations", "taints", "ipFamilies", "clusterIPs", "finalizers", "groups"}, *last.FieldName)
}

// isExact reports whether the API server stores the value at a path as it is sent, with nothing but the
// defaults of its schema: it is a custom resource's. A type with a name is a Go type of an aggregated API
// server, or the metadata of an embedded resource. Such types can store a value in another spelling.
func (c *comparison) isExact(p fieldpath.Path) bool {
	if c.builtIn || c.types.At(nil) == nil || len(p) == 0 || p[0].FieldName == nil || *p[0].FieldName == "metadata" {
		return false
	}
	for n := 1; n <= len(p); n++ {
		if t := c.types.At(p[:n]); t != nil && t.Name() != "" {
			return false
		}
	}
	return true
}

// isAtomic reports whether a map or list is owned as a whole. An empty one looks the same in an entry.
func (c *comparison) isAtomic(p fieldpath.Path, v any) bool {
	if !c.isExact(p) {
		return false
	}
	_, isList := v.([]any)
	return openapi.RelationOf(c.types.At(p)) == openapi.Atomic || isList && c.types.IsDeduced(p)
}

// completed reports whether a value of a custom resource is the declared one with the defaults of its
// schema.
func completed(from, to any, t openapi.Type) bool {
	if t != nil && t.Name() != "" {
		return noop.MayComplete(from, to)
	}
	switch from := from.(type) {
	case nil: // Null is a value if the schema says so. Otherwise the server replaces it by the default.
		nullable, ok := t.(interface{ Nullable() bool })
		return to == nil || !ok || !nullable.Nullable()
	case map[string]any:
		to, isMap := to.(map[string]any)
		return isMap && completedMap(from, to, t)
	case []any:
		to, isList := to.([]any)
		if !isList || len(from) != len(to) {
			return false
		}
		for i := range from {
			if !completed(from[i], to[i], openapi.Items(t)) {
				return false
			}
		}
		return true
	}
	return fieldpath.Equal(from, to) || holdsQuantity(t) && sameText(from, to)
}

func completedMap(from, to map[string]any, t openapi.Type) bool {
	for name, v := range from {
		stored, has := to[name]
		if v != nil && (!has || !completed(v, stored, openapi.Field(t, name))) {
			return false
		}
	}
	for name, stored := range to {
		if _, sent := from[name]; sent {
			continue
		}
		field := openapi.Field(t, name)
		if field == nil || field.Default() == nil || !completed(field.Default(), stored, field) {
			return false
		}
	}
	return true
}

// holdsQuantity reports whether the field of a custom resource is a quantity: a number or a text of the
// pattern that generators of CRDs write for the Go type. Admission that uses this type spells the value as
// the API server spells it in its own kinds.
func holdsQuantity(t openapi.Type) bool {
	p, ok := t.(interface{ Pattern() string })
	return ok && t.Extension("x-kubernetes-int-or-string") == any(true) && p.Pattern() == quantityPattern
}

// https://github.com/kubernetes-sigs/controller-tools/blob/main/pkg/crd/known_types.go
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// DryRunDiffers returns the values of an apply that its dry run has otherwise than its answer, such as in
// another spelling or another order, apart from known changes. From is the dry run's value. If the apply changed
// nothing, each run writes them again, and each diff announces that.
func (p Predictor) DryRunDiffers(in *Prediction, answer *unstructured.Unstructured, known []managedfields.Change) []managedfields.Change {
	if in.Answer == nil || in.Live == nil {
		return nil
	}
	set, err := p.owned(in, answer)
	if err != nil {
		return nil
	}
	var out []managedfields.Change
	var visit func(path fieldpath.Path, tried, stored any)
	visit = func(path fieldpath.Path, tried, stored any) {
		a, aMap := tried.(map[string]any)
		b, bMap := stored.(map[string]any)
		switch {
		case fieldpath.Equal(tried, stored):
		case aMap && bMap:
			for name, v := range a {
				if w, has := b[name]; has {
					visit(path.Child(fieldpath.FieldElement(name)), v, w)
				}
			}
		case !slices.ContainsFunc(known, func(c managedfields.Change) bool { return c.Path.HasPrefix(path) || path.HasPrefix(c.Path) }):
			out = append(out, managedfields.Change{Path: path, From: tried, To: stored, Kind: managedfields.Changed})
		}
	}
	visit(nil, managedfields.Project(in.Answer.Object, set), managedfields.Project(answer.Object, set))
	slices.SortFunc(out, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	return out
}
