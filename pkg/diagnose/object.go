package diagnose

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// KindOf returns the GroupVersionKind of a kind.
func KindOf(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// RefOf returns a reference to an object.
func RefOf(apiVersion, kind, namespace, name string) object.Ref {
	return object.Ref{GVK: KindOf(apiVersion, kind), Namespace: namespace, Name: name}
}

// IsKind reports whether an object is of a kind, at any version.
func IsKind(u *unstructured.Unstructured, group, kind string) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Group: group, Kind: kind}
}

// As converts an object to a type. It returns false for nil. It also returns false if a field does
// not fit the type, as in an object of another API whose kind has the same name.
func As[T any](u *unstructured.Unstructured) (T, bool) {
	var typed T
	if u == nil {
		return typed, false
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &typed)
	return typed, err == nil
}

// All calls [As] for each object, and drops those that cannot be converted.
func All[T any](objects []*unstructured.Unstructured) []T {
	var typed []T
	for _, u := range objects {
		if t, ok := As[T](u); ok {
			typed = append(typed, t)
		}
	}
	return typed
}

// Text returns a string field, or "".
func Text(u *unstructured.Unstructured, path ...string) string {
	if u == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// Items returns the maps in the list at path.
func Items(u *unstructured.Unstructured, path ...string) []map[string]any {
	if u == nil {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	list, _ := value.([]any)
	var maps []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// Terminating reports whether an object's deletion has been requested.
func Terminating(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil }

// Since returns the time at which the object's deletion was requested: the deletion timestamp minus
// the grace period. It returns the zero time if the deletion was not requested.
func Since(u *unstructured.Unstructured) time.Time {
	at := u.GetDeletionTimestamp()
	if at == nil {
		return time.Time{}
	}
	grace := u.GetDeletionGracePeriodSeconds()
	if grace == nil {
		return at.Time
	}
	return at.Add(-time.Duration(*grace) * time.Second)
}

// Setters returns the owners that set the finalizer.
func Setters(u *unstructured.Unstructured, finalizer string) []managedfields.Owner {
	entries, err := managedfields.Entries(u)
	if err != nil {
		return nil // The owner remains unknown.
	}
	path, err := fieldpath.ParsePath(".metadata.finalizers[=" + quoted(finalizer) + "]")
	if err != nil {
		return nil
	}
	return managedfields.HoldersOf(entries, path)
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Name returns an object's name for messages, in kubectl's notation.
func Name(ref object.Ref) string {
	if ref.Namespace == "" {
		return text.Excerpt(ref.Resource())
	}
	return text.Excerpt(ref.Resource() + " -n " + ref.Namespace)
}

// On returns the command-line arguments that name the object: TYPE/NAME -n NAMESPACE.
func On(ref object.Ref) string {
	if ref.Namespace == "" {
		return text.ShellQuote(ref.Resource())
	}
	return text.ShellQuote(ref.Resource()) + " -n " + text.ShellQuote(ref.Namespace)
}

// Ago formats a duration in the largest unit that is useful.
func Ago(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// Some returns at most the given number of strings. If there are more, it appends "and N more".
func Some(texts []string, most int) []string {
	if len(texts) <= most {
		return texts
	}
	return append(texts[:most:most], fmt.Sprintf("and %d more", len(texts)-most))
}
