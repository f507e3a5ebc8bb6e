package inventory

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// kustomization reads the status of a Kustomization, whose entries are of type ResourceRef in
// fluxcd/kustomize-controller, api/v1/inventory_types.go.
func kustomization(u map[string]any) (Contents, error) {
	if _, remote, _ := unstructured.NestedMap(u, "spec", "kubeConfig"); remote {
		return Contents{}, elsewhere("spec.kubeConfig")
	}
	entries, _, err := unstructured.NestedSlice(u, "status", "inventory", "entries")
	if err != nil {
		return Contents{}, err
	}
	var out Contents
	for i, entry := range entries {
		fields, _ := entry.(map[string]any)
		id, _ := fields["id"].(string)
		version, _ := fields["v"].(string)
		ref, err := entryOf(id, version)
		if err != nil {
			return Contents{}, fmt.Errorf("entry %d of its inventory: %w", i+1, err)
		}
		out.Objects = append(out.Objects, ref)
	}
	if len(out.Objects) == 0 {
		return out, errNothing
	}
	return out, nil
}

// entryOf parses NAMESPACE_NAME_GROUP_KIND. Two underscores represent a colon, which the name of a
// role can contain.
func entryOf(id, version string) (object.Ref, error) {
	namespace, rest, first := strings.Cut(id, "_")
	last := strings.LastIndexByte(rest, '_')
	if !first || last < 0 || version == "" {
		return object.Ref{}, fmt.Errorf("%q at version %q: not NAMESPACE_NAME_GROUP_KIND", id, version)
	}
	kind, rest := rest[last+1:], rest[:last]
	middle := strings.LastIndexByte(rest, '_')
	if middle < 0 {
		return object.Ref{}, fmt.Errorf("%q: not NAMESPACE_NAME_GROUP_KIND", id)
	}
	group, name := rest[middle+1:], strings.ReplaceAll(rest[:middle], "__", ":")
	if name == "" || kind == "" || strings.Contains(name, "_") {
		return object.Ref{}, fmt.Errorf("%q: not NAMESPACE_NAME_GROUP_KIND", id)
	}
	return object.Ref{GVK: schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, Namespace: namespace, Name: name}, nil
}

// helmRelease returns the snapshot with the highest version (type Snapshot in
// fluxcd/helm-controller, api/v2/snapshot_types.go). Before the first snapshot, it derives name and
// namespace from the spec.
func helmRelease(u map[string]any) (Contents, error) {
	if _, remote, _ := unstructured.NestedMap(u, "spec", "kubeConfig"); remote {
		return Contents{}, elsewhere("spec.kubeConfig")
	}
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(u, fields...)
		return s
	}
	usual := text("metadata", "name")
	if target := text("spec", "targetNamespace"); target != "" {
		usual = target + "-" + usual
	}
	r := &Release{
		Namespace: cmp.Or(text("status", "storageNamespace"), text("spec", "storageNamespace"), text("metadata", "namespace")),
		Name:      cmp.Or(text("spec", "releaseName"), usual),
	}
	history, _, err := unstructured.NestedSlice(u, "status", "history")
	if err != nil {
		return Contents{}, err
	}
	newest := int64(-1)
	for _, snapshot := range history {
		fields, _ := snapshot.(map[string]any)
		name, _ := fields["name"].(string)
		if version, _ := fields["version"].(int64); name != "" && version > newest {
			newest, r.Name = version, name
		}
	}
	return Contents{Release: r}, nil
}
