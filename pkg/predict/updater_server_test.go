package predict_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// updater is one object in an API server. structured-merge-diff's Updater decides ownership; the
// rest, such as defaults, is implemented here.
type updater struct {
	schema   typed.ParseableType
	merge    *merge.Updater
	live     *typed.TypedValue
	managers fieldpath.ManagedFields
}

// schema reads the schema of the random objects.
func schema(t testing.TB) typed.ParseableType {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "schema.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	parser, err := typed.NewParser(typed.YAMLObject(text))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Type("root")
}

func newUpdater(schema typed.ParseableType) (updater, error) {
	builder := merge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}
	empty, err := schema.FromUnstructured(map[string]any{})
	return updater{schema: schema, merge: builder.BuildUpdater(), live: empty, managers: fieldpath.ManagedFields{}}, err
}

// oneVersion is a converter that changes nothing, because the kind has only one version.
type oneVersion struct{}

func (oneVersion) Convert(o *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return o, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

// apply returns the object after a server-side apply; the error may be
// merge.Conflicts.
func (u updater) apply(manager string, manifest map[string]any, force bool) (updater, error) {
	declared, err := u.schema.FromUnstructured(runtime.DeepCopyJSON(manifest))
	if err != nil {
		return u, err
	}
	live, managers, err := u.merge.Apply(u.live, declared, "v1", u.managers.Copy(), manager, force)
	if err != nil {
		return u, err
	}
	if live == nil { // nothing to do
		live = u.live
	}
	after := contentOf(live)
	setDefaults(after)
	u.live, err = u.schema.FromUnstructured(after)
	u.managers = owned(managers)
	return u, err
}

// update returns the object after a PUT.
func (u updater) update(manager string, object map[string]any) (updater, error) {
	object = runtime.DeepCopyJSON(object)
	setDefaults(object)
	whole, err := u.schema.FromUnstructured(object)
	if err != nil {
		return u, err
	}
	live, managers, err := u.merge.Update(u.live, whole, "v1", u.managers.Copy(), manager)
	u.live, u.managers = live, owned(managers)
	return u, err
}

// owned removes from each manager's set the fields that no manager can own in an API server.
func owned(managers fieldpath.ManagedFields) fieldpath.ManagedFields {
	nobodys := fieldpath.NewSet(
		fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"),
		fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("metadata", "name"))
	out := fieldpath.ManagedFields{}
	for name, set := range managers {
		if fields := set.Set().Difference(nobodys); !fields.Empty() {
			out[name] = fieldpath.NewVersionedSet(fields, set.APIVersion(), set.Applied())
		}
	}
	return out
}

// setDefaults sets the only default: the protocol of a port.
func setDefaults(v any) {
	switch v := v.(type) {
	case map[string]any:
		ports, _ := v["ports"].([]any)
		for _, port := range ports {
			if port, ok := port.(map[string]any); ok && port["protocol"] == nil {
				port["protocol"] = "TCP"
			}
		}
		for _, child := range v {
			setDefaults(child)
		}
	case []any:
		for _, child := range v {
			setDefaults(child)
		}
	}
}

func contentOf(v *typed.TypedValue) map[string]any {
	object, _ := v.AsValue().Unstructured().(map[string]any)
	return runtime.DeepCopyJSON(object)
}

// object returns the object as a client reads it.
func (u updater) object(t testing.TB) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{Object: contentOf(u.live)}
	var entries []any
	for _, name := range slices.Sorted(maps.Keys(u.managers)) {
		set := u.managers[name]
		text, err := set.Set().ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		operation := "Update"
		if set.Applied() {
			operation = "Apply"
		}
		entries = append(entries, map[string]any{
			"manager": name, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
		})
	}
	if len(entries) > 0 {
		out.Object["metadata"].(map[string]any)["managedFields"] = entries
	}
	return out
}
