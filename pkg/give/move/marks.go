package move

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keeper returns the tool whose annotation keeps the object during the move. It is usually the old one. If that
// has none, and the new one writes its marks itself, the annotation only shows that the object is moving.
func (e *Engine) keeper() Tool {
	if e.From.Keep == "" && e.To.Joins {
		return e.To
	}
	return e.From
}

// Keep returns the annotation that a move adds to an object; empty if there is none.
func (e *Engine) Keep() string { return e.keeper().Keep }

// kept returns the value of the annotation that keeps the object; add is false if it is set already.
func (t Tool) kept(live *unstructured.Unstructured) (value string, add bool) {
	now := live.GetAnnotations()[t.Keep]
	switch {
	case t.Keep == "", now == t.KeepValue, t.KeepList && slices.Contains(strings.Split(now, ","), t.KeepValue):
		return "", false
	case t.KeepList && now != "":
		return now + "," + t.KeepValue, true
	}
	return t.KeepValue, true
}

// unkept returns the value of the annotation without what this package added; nil removes it. kept is
// false if this package did not add it.
func (t Tool) unkept(live *unstructured.Unstructured) (value any, kept bool) {
	now, found := live.GetAnnotations()[t.Keep]
	if !IsKept(live) || !found {
		return nil, false
	}
	rest := slices.DeleteFunc(strings.Split(now, ","), func(one string) bool { return one == t.KeepValue })
	if t.KeepList && len(rest) > 0 {
		return strings.Join(rest, ","), true
	}
	return nil, true
}

// IsKept reports whether this package added the annotation that keeps the object.
func IsKept(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == Keeper })
}

// marked reports whether an object carries all marks of a tool.
func (t Tool) marked(live *unstructured.Unstructured) bool {
	labels, marks := live.GetLabels(), live.GetAnnotations()
	for key, value := range t.Labels {
		if labels[key] != value {
			return false
		}
	}
	for key, value := range t.Annotations {
		if marks[key] != t.value(value, live) {
			return false
		}
	}
	return true
}

// rival returns the mark with which another tool of the same kind claims an object, such as another Helm
// release; empty if there is none. It ignores marks that name no tool, or not exactly: Argo CD's depends on
// the namespace in which Argo CD runs.
func (t Tool) rival(live *unstructured.Unstructured) string {
	differs := func(now, marks map[string]string) string {
		for _, key := range slices.Sorted(maps.Keys(marks)) {
			if now[key] != "" && now[key] != marks[key] && key != "app.kubernetes.io/managed-by" && key != "argocd.argoproj.io/tracking-id" {
				return key + ": " + now[key]
			}
		}
		return ""
	}
	return cmp.Or(differs(live.GetAnnotations(), t.Annotations), differs(live.GetLabels(), t.Labels))
}

// value replaces the placeholder by GROUP/KIND:NAMESPACE/NAME, as Argo CD writes it.
func (Tool) value(value string, live *unstructured.Unstructured) string {
	gvk := live.GroupVersionKind()
	return strings.ReplaceAll(value, "OBJECT", gvk.Group+"/"+gvk.Kind+":"+live.GetNamespace()+"/"+live.GetName())
}

// marks returns a patch of the metadata that replaces the marks of the old tool by those of the new
// one; nil if nothing changes. It does not remove the marks of a third tool. adds is false if it only removes
// marks.
func (e *Engine) marks(live *unstructured.Unstructured) (patch map[string]any, adds bool) {
	others := e.From.rival(live) != ""
	replace := func(now, old, next map[string]string) map[string]any {
		out := map[string]any{}
		if e.To.Joins {
			next = nil
		}
		for key, value := range old {
			if _, stays := next[key]; !stays && !others && now[key] != "" && now[key] == e.From.value(value, live) {
				out[key] = nil
			}
		}
		for key, value := range next {
			if value = e.To.value(value, live); now[key] != value {
				out[key], adds = value, true
			}
		}
		return out
	}
	patch = map[string]any{}
	if labels := replace(live.GetLabels(), e.From.Labels, e.To.Labels); len(labels) > 0 {
		patch["labels"] = labels
	}
	if marks := replace(live.GetAnnotations(), e.From.Annotations, e.To.Annotations); len(marks) > 0 {
		patch["annotations"] = marks
	}
	if len(patch) == 0 {
		return nil, false
	}
	return patch, adds
}
