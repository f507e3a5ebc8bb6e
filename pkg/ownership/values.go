package ownership

import (
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// ValueChange is set only if the two values differ and a record is allowed to keep both.
type ValueChange struct{ From, To string }

// ValuesOf returns the values at a path in two versions of an object, if a record may keep them:
// numbers, images and booleans at a few paths of a few built-in kinds. These values are never
// secret.
func ValuesOf(kind schema.GroupKind, path fieldpath.Path, old, now *Lookup) ValueChange {
	text := keeps(kind, path)
	if text == nil {
		return ValueChange{}
	}
	was, hadValue := old.Get(path)
	is, hasValue := now.Get(path)
	return changeOf(text(was, hadValue), text(is, hasValue))
}

// ScaleValues returns the number of replicas in each of two versions of a Scale. A Scale without a
// number has zero replicas.
func ScaleValues(old, now map[string]any) ValueChange {
	replicas := func(scale map[string]any) string {
		value, there := fieldpath.Field("spec", "replicas").Get(scale)
		if !there {
			return "0"
		}
		return number(value, there)
	}
	return changeOf(replicas(old), replicas(now))
}

func changeOf(from, to string) ValueChange {
	if from == "" || to == "" || from == to {
		return ValueChange{}
	}
	return ValueChange{from, to}
}

// keeps returns a function that formats the value at a path, or nil if records do not keep that
// value. For a value of an unexpected type, the function returns "".
func keeps(kind schema.GroupKind, path fieldpath.Path) func(value any, there bool) string {
	pod := ".spec.template.spec"
	switch kind.String() {
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "DaemonSet.apps", "ReplicationController", "Job.batch":
	case "CronJob.batch":
		pod = ".spec.jobTemplate.spec.template.spec"
	case "Pod":
		pod = ".spec"
	case "HorizontalPodAutoscaler.autoscaling":
	default:
		return nil
	}
	switch namesOf(path) {
	case ".spec.replicas", ".spec.minReplicas", ".spec.maxReplicas":
		return number
	case ".spec.paused", ".spec.suspend":
		return boolean
	case pod + ".containers[].image", pod + ".initContainers[].image":
		return image
	default:
		return nil
	}
}

func namesOf(path fieldpath.Path) string {
	var b strings.Builder
	for _, pe := range path {
		if pe.FieldName != nil {
			b.WriteString("." + *pe.FieldName)
		} else {
			b.WriteString("[]")
		}
	}
	return b.String()
}

func number(value any, _ bool) string {
	n, ok := value.(int64)
	if !ok {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// A missing field counts as false, which is its default.
func boolean(value any, there bool) string {
	is, ok := value.(bool)
	if !ok && there {
		return ""
	}
	return strconv.FormatBool(is)
}

// The API server accepts any text as an image, so unusual references are left out.
func image(value any, _ bool) string {
	text, _ := value.(string)
	if len(text) > maxValue || !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*(@[a-z0-9+._-]+:[0-9a-f]{32,})?$`).MatchString(text) {
		return ""
	}
	return text
}

// Lookup reads many paths of a single object, which must not change. Unlike [fieldpath.Path.Get],
// it searches a long list only once for all its items.
type Lookup struct {
	object map[string]any
	lists  map[longList]index
}

// NewLookup returns a Lookup for an object.
func NewLookup(object map[string]any) *Lookup {
	return &Lookup{object: object, lists: map[longList]index{}}
}

// Get works like [fieldpath.Path.Get].
func (l *Lookup) Get(p fieldpath.Path) (any, bool) { return p.GetBy(l.object, l.find) }

// Same works like [fieldpath.Path.Same].
func (l *Lookup) Same(p fieldpath.Path, other *Lookup) bool {
	was, hasWas := l.Get(p)
	is, hasIs := other.Get(p)
	return hasWas == hasIs && (!hasWas || fieldpath.Equal(was, is))
}

// A list of up to fewItems items is cheaper to search than to index.
const fewItems = 16

// longList identifies a list by its first item and the names of its key fields. For a list of
// values, names is empty.
type longList struct {
	first *any
	names string
}

type index struct {
	at map[string][]int
	// partial means that some item lacks part of its key, so it may match a key that is not in the
	// map.
	partial bool
}

func (l *Lookup) find(list []any, pe fieldpath.Element) int {
	if len(list) <= fewItems || pe.Index != nil || pe.Key == nil && pe.Value == nil {
		return fieldpath.Find(list, pe)
	}
	x := fieldpath.ItemsNamed(pe)
	names := x.Names()
	name := longList{&list[0], strings.Join(names, "\x00")}
	at, ok := l.lists[name]
	if !ok {
		at = indexOf(list, names)
		l.lists[name] = at
	}
	for _, i := range at.at[keyText(pe, names)] {
		if x.Match(list[i], pe) == fieldpath.Exact {
			return i
		}
	}
	if at.partial {
		return fieldpath.Find(list, pe)
	}
	return -1
}

func indexOf(list []any, names []string) index {
	out := index{at: make(map[string][]int, len(list))}
	for i, item := range list {
		text := scalarText(item)
		if len(names) > 0 {
			m, ok := item.(map[string]any)
			if !ok {
				continue
			}
			var key strings.Builder
			for _, name := range names {
				value, message := m[name]
				out.partial = out.partial || !message
				key.WriteString(scalarText(value) + "\x00")
			}
			text = key.String()
		}
		out.at[text] = append(out.at[text], i)
	}
	return out
}

func keyText(pe fieldpath.Element, names []string) string {
	if len(names) == 0 {
		return scalarText((*pe.Value).Unstructured())
	}
	var key strings.Builder
	for _, name := range names {
		value, _ := fieldpath.KeyField(pe, name)
		key.WriteString(scalarText(value) + "\x00")
	}
	return key.String()
}

// scalarText returns the same text for equal values, but may also do so for unequal ones.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	if f, ok := fieldpath.AsFloat(v); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return ""
}
