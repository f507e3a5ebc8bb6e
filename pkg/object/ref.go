package object

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Ref identifies an object. A cluster-scoped object has no namespace.
type Ref struct {
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string
}

// Key is a Ref without its API version. Equal Keys mean the same object.
type Key struct {
	Group, Kind, Namespace, Name string
}

// RefOf returns the Ref of an object.
func RefOf(u *unstructured.Unstructured) Ref {
	return Ref{GVK: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Key returns the Ref without its version.
func (r Ref) Key() Key {
	return Key{Group: r.GVK.Group, Kind: r.GVK.Kind, Namespace: r.Namespace, Name: r.Name}
}

// String returns kubectl's notation, such as "deployment.apps/web -n prod", which users can paste
// after kubectl get. Without a name, it returns the kind.
func (r Ref) String() string {
	text := strings.TrimSuffix(r.Resource(), "/")
	if r.Namespace == "" {
		return text
	}
	return text + " -n " + r.Namespace
}

// Resource returns kind.group/name in lower case, as kubectl prints it and as flags such as --take
// expect it.
func (r Ref) Resource() string {
	kind := strings.ToLower(r.GVK.Kind)
	switch {
	case r.GVK.Group == "":
	case kind == "": // A Ref without a kind represents the whole group.
		kind = r.GVK.Group
	default:
		kind += "." + r.GVK.Group
	}
	return kind + "/" + r.Name
}

// MarshalJSON uses the same field names as manifests and owner references.
func (r Ref) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace,omitempty"`
		Name       string `json:"name"`
	}{r.GVK.GroupVersion().String(), r.GVK.Kind, r.Namespace, r.Name})
}

// Ref returns a Ref without a version.
func (k Key) Ref() Ref {
	return Ref{GVK: schema.GroupVersionKind{Group: k.Group, Kind: k.Kind}, Namespace: k.Namespace, Name: k.Name}
}

// Compare orders Refs by group, kind, namespace, name and version; team-2 comes before team-10.
func (r Ref) Compare(other Ref) int {
	return cmp.Or(
		cmp.Compare(r.GVK.Group, other.GVK.Group),
		cmp.Compare(r.GVK.Kind, other.GVK.Kind),
		text.CompareNames(r.Namespace, other.Namespace),
		text.CompareNames(r.Name, other.Name),
		cmp.Compare(r.GVK.Version, other.GVK.Version),
	)
}

// Source is the place of an object in the input.
type Source struct {
	// File is a path, "-" for standard input, or a URL without secrets.
	File string
	// Line is the line number, counted from 1; 0 means unknown, as in the output of a
	// kustomization.
	Line int
}

func (s Source) String() string {
	if s.Line == 0 {
		return s.File
	}
	return s.File + ":" + strconv.Itoa(s.Line)
}

// Manifest is an object as its author wrote it, without defaults, an added namespace, or fields set
// by the server.
type Manifest struct {
	Object *unstructured.Unstructured
	Source Source
	// Origin is set for a copy from a cluster that had bound fields; see [Origin].
	Origin *Origin
}

// Origin describes the object that a manifest was copied from. The manifest lacks the fields that
// are bound to that object, such as its owners and the address of a Service, because another object
// must not have them.
type Origin struct {
	// UID is empty if the copy had none.
	UID types.UID
	// Object is the manifest with its bound fields.
	Object map[string]any
	Bound  []BoundField
}

// BoundField is a field that is bound to one object.
type BoundField struct {
	Name string
	// Field is the path of the field, or of a parent of it.
	Field  []string
	Source Source
}

// Ref returns the Ref of the object, with the namespace as written.
func (m Manifest) Ref() Ref { return RefOf(m.Object) }

// Finalizers returns an object's finalizers, including those in a namespace's spec.
func Finalizers(u *unstructured.Unstructured) []string {
	all := u.GetFinalizers()
	if u.GetAPIVersion() == "v1" && u.GetKind() == "Namespace" {
		own, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "finalizers")
		all = append(all, own...)
	}
	return all
}
