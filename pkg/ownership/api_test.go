package ownership_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// definition is the schema in the CRD of records.
type definition struct {
	Metadata struct{ Name string }
	Spec     struct {
		Group    string
		Names    struct{ Kind, ListKind, Plural string }
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema schemaNode }
		}
	}
}

type schemaNode struct {
	Type, Format, Description string
	Properties                map[string]schemaNode
	Items                     *schemaNode
	Required                  []string
	MaxItems                  int
}

func readDefinition(t *testing.T) definition {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "charts", "k8sconnect", "files", "ownershiprecords.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var d definition
	if err := yaml.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The CRD and the Go type have the same fields, of the same types, and require the same ones.
func TestDefinition(t *testing.T) {
	d := readDefinition(t)
	names := []string{d.Metadata.Name, d.Spec.Group, d.Spec.Names.Kind, d.Spec.Names.ListKind, d.Spec.Names.Plural, d.Spec.Versions[0].Name}
	want := []string{
		ownership.RecordPlural + "." + ownership.RecordGroup, ownership.RecordGroup, ownership.RecordKind,
		ownership.RecordKind + "List", ownership.RecordPlural, ownership.RecordVersion,
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	root := d.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if _, ok := root.Properties[name]; !ok {
			t.Errorf("no property %s", name)
		}
		delete(root.Properties, name)
	}
	compareSchema(t, "", reflect.TypeFor[ownership.Record](), root)
}

func compareSchema(t *testing.T, path string, typ reflect.Type, node schemaNode) {
	t.Helper()
	want := ""
	switch {
	case typ == reflect.TypeFor[metav1.Time]():
		want = "string date-time"
	case typ.Kind() == reflect.Struct:
		want = "object "
		compareFields(t, path, typ, node)
	case typ.Kind() == reflect.Slice:
		want = "array "
		compareSchema(t, path+"[]", typ.Elem(), *node.Items)
	case typ.Kind() == reflect.String:
		want = "string "
	case typ.Kind() == reflect.Bool:
		want = "boolean "
	case typ.Kind() == reflect.Int:
		want = "integer int64"
	}
	if got := node.Type + " " + node.Format; got != want {
		t.Errorf("%s is %q in the definition, and %q in Go", path, got, want)
	}
	if node.Description == "" && !strings.HasSuffix(path, "[]") {
		t.Errorf("%s has no description", path)
	}
}

func compareFields(t *testing.T, path string, typ reflect.Type, node schemaNode) {
	t.Helper()
	fields, required := map[string]bool{}, map[string]bool{}
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous { // what all objects have
			continue
		}
		fields[name] = true
		if options != "omitempty" && options != "omitzero" {
			required[name] = true
		}
		child, ok := node.Properties[name]
		if !ok {
			t.Errorf("%s.%s is not in the definition", path, name)
			continue
		}
		compareSchema(t, path+"."+name, f.Type, child)
	}
	for name := range node.Properties {
		if !fields[name] {
			t.Errorf("%s.%s is only in the definition", path, name)
		}
	}
	got := map[string]bool{}
	for _, name := range node.Required {
		got[name] = true
	}
	if diff := cmp.Diff(required, got); diff != "" {
		t.Errorf("%s: required (-Go +definition):\n%s", path, diff)
	}
}

// full returns a record in which no field has its zero value.
func full(t *testing.T) *ownership.Record {
	t.Helper()
	var r ownership.Record
	fill(reflect.ValueOf(&r).Elem())
	return &r
}

func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1_700_000_000, 0))))
	case v.Type() == reflect.TypeFor[metav1.FieldsV1]():
		v.Set(reflect.ValueOf(*metav1.NewFieldsV1(`{"f:spec":{}}`)))
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case v.Kind() == reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"a": "b"}))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(7)
	}
}

// A copy is equal, and shares no memory with the original.
func TestDeepCopy(t *testing.T) {
	var list ownership.RecordList
	fill(reflect.ValueOf(&list).Elem())
	for name, object := range map[string]runtime.Object{"record": full(t), "list": &list} {
		t.Run(name, func(t *testing.T) {
			before, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			duplicate := object.DeepCopyObject()
			if after, err := json.Marshal(duplicate); err != nil || string(after) != string(before) {
				t.Errorf("the copy differs: %s, %v", after, err)
			}
			for what, p := range shared(reflect.ValueOf(object), reflect.ValueOf(duplicate), "") {
				t.Errorf("%s is shared: %v", what, p)
			}
		})
	}
	if got := (*ownership.Record)(nil).DeepCopyObject(); got != nil {
		t.Errorf("copy of nil is %v, want nil", got)
	}
}

// shared returns the pointers that both values contain, by path.
func shared(a, b reflect.Value, path string) map[string]uintptr {
	out := map[string]uintptr{}
	add := func(more map[string]uintptr) { maps.Copy(out, more) }
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.Type() == reflect.TypeFor[*time.Location]() {
			return out
		}
		if !a.IsNil() && a.Pointer() == b.Pointer() {
			out[path] = a.Pointer()
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		add(shared(a.Elem(), b.Elem(), path))
	case reflect.Struct:
		for i := range a.NumField() {
			add(shared(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name))
		}
	case reflect.Slice:
		for i := range a.Len() {
			add(shared(a.Index(i), b.Index(i), path+"[]"))
		}
	}
	return out
}

func TestScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := ownership.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, object := range []runtime.Object{&ownership.Record{}, &ownership.RecordList{}} {
		if kinds, _, err := scheme.ObjectKinds(object); err != nil || kinds[0].GroupVersion() != ownership.RecordGVK().GroupVersion() {
			t.Errorf("%T: kinds %v, %v", object, kinds, err)
		}
	}
}

// A record is deleted with its object. It is in the object's namespace, or in the given namespace
// for a cluster-scoped object.
func TestNewRecord(t *testing.T) {
	for namespace, want := range map[string]string{"prod": "prod", "": "k8sconnect"} {
		r := ownership.NewRecord(ownership.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: "web", UID: "1-2"}, "k8sconnect")
		if r.Namespace != want || r.Name != "deployment-1-2" || r.Kind != "OwnershipRecord" {
			t.Errorf("%s %s/%s", r.Kind, r.Namespace, r.Name)
		}
		owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "1-2"}}
		if diff := cmp.Diff(owner, r.OwnerReferences); diff != "" {
			t.Errorf("owner (-want +got):\n%s", diff)
		}
	}
}
