package lab

import (
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Kind is how the API server serves objects of a kind.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
}

// Kinds are those that the API server serves.
type Kinds map[schema.GroupVersionKind]Kind

// discover asks for the kinds that the API server serves from the start.
func discover(config *rest.Config) (Kinds, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	served := Kinds{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				served[version.WithKind(r.Kind)] = Kind{version.WithResource(r.Name), r.Namespaced}
			}
		}
	}
	return served, nil
}

// definitionKind is the kind of objects that define kinds.
const (
	DefinitionKind      = "CustomResourceDefinition"
	DefinitionGroupKind = DefinitionKind + ".apiextensions.k8s.io"
)

// Define adds the kinds that objects among those given define.
func (k Kinds) Define(objects []*unstructured.Unstructured) {
	for _, u := range objects {
		if u.GetKind() != DefinitionKind {
			continue
		}
		text := func(fields ...string) string {
			value, _, _ := unstructured.NestedString(u.Object, append([]string{"spec"}, fields...)...)
			return value
		}
		versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
		for _, version := range versions {
			name, _, _ := unstructured.NestedString(version.(map[string]any), "name")
			gv := schema.GroupVersion{Group: text("group"), Version: name}
			k[gv.WithKind(text("names", "kind"))] = Kind{gv.WithResource(text("names", "plural")), text("scope") == "Namespaced"}
		}
	}
}

// collection is the objects of a resource in a namespace, which is empty for
// cluster-scoped ones.
type collection struct {
	resource  schema.GroupVersionResource
	Namespace string
}

// of returns the collection that an object belongs to, if it is applied with -n
// namespace.
func (k Kinds) of(u *unstructured.Unstructured, namespace string) (collection, error) {
	kind, ok := k[u.GroupVersionKind()]
	if !ok {
		return collection{}, fmt.Errorf("the server does not serve %s", u.GroupVersionKind())
	}
	switch {
	case !kind.Namespaced:
		namespace = ""
	case u.GetNamespace() != "":
		namespace = u.GetNamespace()
	}
	return collection{kind.Resource, namespace}, nil
}

// Path is the collection's URL.
func (c collection) Path() string {
	base := path.Join("/apis", c.resource.Group, c.resource.Version)
	if c.resource.Group == "" {
		base = path.Join("/api", c.resource.Version)
	}
	if c.Namespace != "" {
		base = path.Join(base, "namespaces", c.Namespace)
	}
	return path.Join(base, c.resource.Resource)
}
