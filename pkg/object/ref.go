package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref is what an object is called: its kind at the version in which somebody
// spoke of it, its namespace (empty where it has none) and its name.
type Ref struct {
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string
}

// Key is a Ref without its version: two Refs with one Key mean the same object.
type Key struct {
	Group, Kind, Namespace, Name string
}

// RefOf reads the name of an object off the object.
func RefOf(u *unstructured.Unstructured) Ref {
	return Ref{GVK: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Key returns the identity of the object, whatever version it was named at.
func (r Ref) Key() Key {
	return Key{Group: r.GVK.Group, Kind: r.GVK.Kind, Namespace: r.Namespace, Name: r.Name}
}

// String returns Kind/namespace/name, or Kind/name where there is no
// namespace: the form for warnings and logs.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.GVK.Kind + "/" + r.Name
	}
	return r.GVK.Kind + "/" + r.Namespace + "/" + r.Name
}

// Resource returns kind.group/name in lower case, as kubectl prints objects
// and as flags such as --take name them; the namespace is not part of it.
func (r Ref) Resource() string {
	kind := strings.ToLower(r.GVK.Kind)
	if r.GVK.Group != "" {
		kind += "." + r.GVK.Group
	}
	return kind + "/" + r.Name
}

// Compare orders Refs by group, kind, namespace and name, then version.
func (r Ref) Compare(other Ref) int {
	return cmp.Or(
		cmp.Compare(r.GVK.Group, other.GVK.Group),
		cmp.Compare(r.GVK.Kind, other.GVK.Kind),
		cmp.Compare(r.Namespace, other.Namespace),
		cmp.Compare(r.Name, other.Name),
		cmp.Compare(r.GVK.Version, other.GVK.Version),
	)
}
