package property_test

import (
	_ "embed" // The definition is a file.
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"
)

//go:embed crd.yaml
var definition []byte

//go:embed meta.yaml
var metadata []byte

// version contains the served schema and the field managers of a version.
type version struct {
	schema    *structuralschema.Structural
	validator validation.SchemaValidator
	// managers by subresource; "" is the object itself.
	managers map[string]*managedfields.FieldManager
}

// read parses the definition and prepares its versions, as the API extensions server does.
func read() (*apiextensionsv1.CustomResourceDefinition, map[string]*version, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &crd); err != nil {
		return nil, nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&crd)
	versions := map[string]*version{}
	models := map[string]*spec.Schema{}
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	resetStatus := map[fieldpath.APIVersion]fieldpath.Filter{}
	for _, v := range crd.Spec.Versions {
		served, err := serve(v)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		versions[v.Name] = served
		if models["com.example."+v.Name+".Thing"], err = served.model(crd.Spec.Group, v.Name, crd.Spec.Names.Kind); err != nil {
			return nil, nil, err
		}
		at := fieldpath.APIVersion(crd.Spec.Group + "/" + v.Name)
		reset[at] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
		resetStatus[at] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(
			fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata")))
	}
	types, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		return nil, nil, err
	}
	gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
	hub := schema.GroupVersion{Group: crd.Spec.Group, Version: "v1"}
	for name, v := range versions {
		gvk.Version = name
		for subresource, filter := range map[string]map[fieldpath.APIVersion]fieldpath.Filter{"": reset, "status": resetStatus} {
			v.managers[subresource], err = managedfields.NewDefaultCRDFieldManager(
				types, converter{}, defaulter{versions}, creator{}, gvk, hub, subresource, filter)
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return &crd, versions, nil
}

func serve(v apiextensionsv1.CustomResourceDefinitionVersion) (*version, error) {
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, &internal, nil); err != nil {
		return nil, err
	}
	out := &version{managers: map[string]*managedfields.FieldManager{}}
	var err error
	if out.schema, err = structuralschema.NewStructural(internal.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	out.schema = out.schema.DeepCopy()
	if err := structuraldefaulting.PruneDefaults(out.schema); err != nil {
		return nil, err
	}
	out.validator, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	return out, err
}

// model returns the version's schema with the fields common to all objects.
func (v *version) model(group, name, kind string) (*spec.Schema, error) {
	out := v.schema.ToKubeOpenAPI()
	var meta spec.Schema
	if err := yaml.Unmarshal(metadata, &meta); err != nil {
		return nil, err
	}
	out.SetProperty("apiVersion", *spec.StringProperty())
	out.SetProperty("kind", *spec.StringProperty())
	out.SetProperty("metadata", meta)
	out.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": group, "version": name, "kind": kind}})
	return out, nil
}

// decode changes an object as decoding does: it drops unknown fields and forbidden nulls, and sets
// defaults.
func (v *version) decode(object map[string]any) {
	structuralpruning.Prune(object, v.schema, true)
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(object, v.schema)
	structuraldefaulting.Default(object, v.schema)
}

// converter converts between versions that differ only in name.
type converter struct{ runtime.ObjectConvertor }

func (converter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	gvk, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if !ok {
		return nil, fmt.Errorf("no version for %v", in.GetObjectKind().GroupVersionKind())
	}
	if gvk.Version != "v1" && gvk.Version != "v2" {
		return nil, runtime.NewNotRegisteredErrForKind("crdserver", gvk)
	}
	out := in.DeepCopyObject()
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return out, nil
}

type defaulter struct{ versions map[string]*version }

func (d defaulter) Default(in runtime.Object) {
	if u, ok := in.(*unstructured.Unstructured); ok {
		structuraldefaulting.Default(u.Object, d.versions[u.GroupVersionKind().Version].schema)
	}
}

type creator struct{}

func (creator) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(gvk)
	return out, nil
}
