package deprecation

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Definition is the part of a CRD that matters for deprecations.
type Definition struct {
	// Name is the CRD's name, such as helmrepositories.source.toolkit.fluxcd.io.
	Name     string
	Kind     schema.GroupKind
	Versions []DefinedVersion
}

// DefinedVersion is an item of spec.versions in a CRD.
type DefinedVersion struct {
	Name               string
	Served, Deprecated bool
	// Storage means that objects are stored at this version. Stored means that some objects may
	// still be stored at it.
	Storage, Stored bool
	// Warning is the author's warning for users of the version; it may be empty.
	Warning string
}

// ParseDefinition parses a CRD at apiextensions.k8s.io/v1. Its kind is empty until the API server
// has accepted the CRD.
func ParseDefinition(crd *unstructured.Unstructured) Definition {
	d := Definition{Name: crd.GetName()}
	d.Kind.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	d.Kind.Kind, _, _ = unstructured.NestedString(crd.Object, "status", "acceptedNames", "kind")
	versions, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	list, _ := versions.([]any)
	for _, item := range list {
		m, _ := item.(map[string]any)
		var v DefinedVersion
		v.Name, _ = m["name"].(string)
		v.Served, _ = m["served"].(bool)
		v.Deprecated, _ = m["deprecated"].(bool)
		v.Storage, _ = m["storage"].(bool)
		v.Stored = slices.Contains(stored, v.Name)
		v.Warning, _ = m["deprecationWarning"].(string)
		d.Versions = append(d.Versions, v)
	}
	return d
}

// Notices returns a notice for each served version that is deprecated. Each notice recommends the
// version that Kubernetes prefers among those that are served and not deprecated.
func (d Definition) Notices() map[string]Notice {
	var use schema.GroupVersionKind
	for _, v := range d.Versions {
		if v.Served && !v.Deprecated && (use.Empty() || version.CompareKubeAwareVersionStrings(v.Name, use.Version) > 0) {
			use = d.Kind.WithVersion(v.Name)
		}
	}
	notices := map[string]Notice{}
	for _, v := range d.Versions {
		if v.Served && v.Deprecated {
			notices[v.Name] = Notice{Kind: d.Kind.WithVersion(v.Name), Use: use, Words: v.Warning}
		}
	}
	return notices
}

// Custom contains the deprecated versions of custom resources, as reported by a watcher of CRDs.
// The zero value is empty. It is safe for concurrent use.
type Custom struct {
	mu          sync.RWMutex
	definitions map[string]definition
	// A kind may briefly have more than one CRD while one replaces another.
	kinds map[schema.GroupKind][]string
}

type definition struct {
	kind    schema.GroupKind
	notices map[string]Notice
}

// Set adds or updates a CRD.
func (c *Custom) Set(d Definition) {
	notices := d.Notices()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(d.Name)
	if d.Kind.Kind == "" || len(notices) == 0 {
		return
	}
	if c.definitions == nil {
		c.definitions = map[string]definition{}
		c.kinds = map[schema.GroupKind][]string{}
	}
	c.definitions[d.Name] = definition{kind: d.Kind, notices: notices}
	c.kinds[d.Kind] = append(c.kinds[d.Kind], d.Name)
}

// Delete removes a CRD.
func (c *Custom) Delete(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(name)
}

// Lookup returns the notice for a custom resource at a version.
func (c *Custom) Lookup(gvk schema.GroupVersionKind) (Notice, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, name := range c.kinds[gvk.GroupKind()] {
		if n, ok := c.definitions[name].notices[gvk.Version]; ok {
			return n, true
		}
	}
	return Notice{}, false
}

// Resources returns the deprecated versions of all custom resources, sorted.
func (c *Custom) Resources() []schema.GroupVersionResource {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []schema.GroupVersionResource
	for name, d := range c.definitions {
		plural, _, _ := strings.Cut(name, ".") // The API server requires this form of a CRD's name.
		for version := range d.notices {
			out = append(out, schema.GroupVersionResource{Group: d.kind.Group, Version: version, Resource: plural})
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (c *Custom) forget(name string) {
	d, ok := c.definitions[name]
	if !ok {
		return
	}
	delete(c.definitions, name)
	left := slices.DeleteFunc(c.kinds[d.kind], func(other string) bool { return other == name })
	if len(left) == 0 {
		delete(c.kinds, d.kind)
		return
	}
	c.kinds[d.kind] = left
}
