package defined

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// Of returns the types of the kinds that a definition declares, by their versions that are
// served. A definition declares a structural schema, which has no references
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema).
// Where it says nothing, as of an object's metadata, nothing is known. There are none in a
// definition from before structural schemas, whose unknown fields are kept.
//
// The types read the definition when they are asked; it must not be changed.
func Of(definition *unstructured.Unstructured) map[schema.GroupVersionKind]openapi.Type {
	spec, _ := definition.Object["spec"].(map[string]any)
	if spec["preserveUnknownFields"] == true {
		return nil
	}
	group, _ := spec["group"].(string)
	names, _ := spec["names"].(map[string]any)
	kind, _ := names["kind"].(string)
	versions, _ := spec["versions"].([]any)
	out := map[schema.GroupVersionKind]openapi.Type{}
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		validation, _ := version["schema"].(map[string]any)
		root, _ := validation["openAPIV3Schema"].(map[string]any)
		if version["served"] == true && root != nil {
			out[schema.GroupVersionKind{Group: group, Version: name, Kind: kind}] = typ{text: root, resource: true}
		}
	}
	return out
}

// typ implements [openapi.Type].
type typ struct {
	// text is the schema as it is written.
	text map[string]any
	// resource is set for a whole object, whose apiVersion, kind and metadata are what they
	// are in every object, whatever the schema says.
	resource bool
}

func of(schema any) openapi.Type {
	text, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	return typ{text: text, resource: text["x-kubernetes-embedded-resource"] == true}
}

func (t typ) Name() string { return "" }

func (t typ) Kinds() []string {
	kind, ok := t.text["type"].(string)
	if !ok {
		return nil
	}
	return []string{kind}
}

func (t typ) properties() map[string]any {
	properties, _ := t.text["properties"].(map[string]any)
	return properties
}

func (t typ) Properties() []string {
	names := slices.Collect(maps.Keys(t.properties()))
	for _, name := range ofEveryObject() {
		if _, declared := t.properties()[name]; t.resource && !declared {
			names = append(names, name)
		}
	}
	return names
}

func ofEveryObject() []string { return []string{"apiVersion", "kind", "metadata"} }

func (t typ) Property(name string) openapi.Type {
	if t.resource && slices.Contains(ofEveryObject(), name) {
		return typ{} // Something is declared there, but not here.
	}
	return of(t.properties()[name])
}

func (t typ) Values() (values openapi.Type, open bool) {
	switch additional := t.text["additionalProperties"].(type) {
	case map[string]any:
		return of(additional), true
	case bool:
		return nil, true
	default:
		return nil, false
	}
}

func (t typ) Items() openapi.Type { return of(t.text["items"]) }

func (t typ) Default() any { return t.text["default"] }

func (t typ) Extension(key string) any { return t.text[key] }
