package main

import (
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// kind is how the API server serves objects of a kind.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// kinds are those that the API server serves.
type kinds map[schema.GroupVersionKind]kind

// discover asks for the kinds that the API server serves from the start.
func discover(config *rest.Config) (kinds, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	served := kinds{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				served[version.WithKind(r.Kind)] = kind{version.WithResource(r.Name), r.Namespaced}
			}
		}
	}
	return served, nil
}

// definitionKind is the kind of objects that define kinds.
const (
	definitionKind      = "CustomResourceDefinition"
	definitionGroupKind = definitionKind + ".apiextensions.k8s.io"
)

// define adds the kinds that objects among those given define.
func (k kinds) define(objects []*unstructured.Unstructured) {
	for _, u := range objects {
		if u.GetKind() != definitionKind {
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
			k[gv.WithKind(text("names", "kind"))] = kind{gv.WithResource(text("names", "plural")), text("scope") == "Namespaced"}
		}
	}
}

// collection is the objects of a resource in a namespace, which is empty for
// cluster-scoped ones.
type collection struct {
	resource  schema.GroupVersionResource
	namespace string
}

// of returns the collection that an object belongs to, if it is applied with -n
// namespace.
func (k kinds) of(u *unstructured.Unstructured, namespace string) (collection, error) {
	kind, ok := k[u.GroupVersionKind()]
	if !ok {
		return collection{}, fmt.Errorf("the server does not serve %s", u.GroupVersionKind())
	}
	switch {
	case !kind.namespaced:
		namespace = ""
	case u.GetNamespace() != "":
		namespace = u.GetNamespace()
	}
	return collection{kind.resource, namespace}, nil
}

// path is the collection's URL.
func (c collection) path() string {
	base := path.Join("/apis", c.resource.Group, c.resource.Version)
	if c.resource.Group == "" {
		base = path.Join("/api", c.resource.Version)
	}
	if c.namespace != "" {
		base = path.Join(base, "namespaces", c.namespace)
	}
	return path.Join(base, c.resource.Resource)
}
