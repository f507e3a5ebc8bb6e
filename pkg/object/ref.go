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

// String names the object as kubectl takes it: "deployment.apps/web -n prod", or
// "namespace/prod" where there is no namespace. It is the one spelling for people, in
// results, errors, warnings and logs alike: what is read can be pasted behind
// kubectl get. Without a name, the kind is meant.
func (r Ref) String() string {
	text := strings.TrimSuffix(r.Resource(), "/")
	if r.Namespace == "" {
		return text
	}
	return text + " -n " + r.Namespace
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

// Ref returns a Ref without a version: what the object is called.
func (k Key) Ref() Ref {
	return Ref{GVK: schema.GroupVersionKind{Group: k.Group, Kind: k.Kind}, Namespace: k.Namespace, Name: k.Name}
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
