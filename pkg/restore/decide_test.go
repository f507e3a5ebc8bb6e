package restore_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
)

func at(kind schema.GroupVersionKind, uid types.UID, version string, going ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}}}
	u.SetGroupVersionKind(kind)
	u.SetUID(uid)
	u.SetResourceVersion(version)
	if len(going) > 0 {
		u.Object["metadata"].(map[string]any)["deletionTimestamp"] = going[0]
	}
	return u
}

// written returns the object with an entry of another manager.
func written(u *unstructured.Unstructured, manager, subresource string, fields map[string]any) *unstructured.Unstructured {
	entry := func(manager, operation, subresource string, fields map[string]any) any {
		return map[string]any{"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "subresource": subresource, "fieldsV1": fields}
	}
	ours := entry("k8sconnect", "Apply", "", map[string]any{"f:data": map[string]any{".": map[string]any{}, "f:v": map[string]any{}}})
	_ = unstructured.SetNestedSlice(u.Object, []any{ours, entry(manager, "Update", subresource, fields)}, "metadata", "managedFields")
	return u
}

// An object that the run created stays if others have written to it since. Writes of the cluster's
// own controllers do not count.
func TestDecideKeepsObjectsWrittenByOthers(t *testing.T) {
	config := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	none := map[string]any{}
	mine := map[string]any{"f:data": map[string]any{".": none, "f:mine": none, "f:other": none}}
	for name, test := range map[string]struct {
		manager, subresource string
		fields               map[string]any
		why                  string
	}{
		"a key":                {"human", "", mine, "human has written to it since: .data.mine and 1 more"},
		"a list item":          {"human", "", map[string]any{"f:spec": map[string]any{"f:list": map[string]any{`k:{"name":"a"}`: map[string]any{".": none, "f:name": none}}}}, `human has written to it since: .spec.list[name="a"].name`},
		"labels":               {"human", "", map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:a": none}, "f:finalizers": map[string]any{".": none, `v:"x"`: none}}}, ""},
		"the status":           {"operator", "", map[string]any{"f:status": map[string]any{"f:phase": none}}, ""},
		"a subresource":        {"kubectl", "scale", map[string]any{"f:spec": map[string]any{"f:replicas": none}}, ""},
		"a CA bundle":          {"cainjector", "", map[string]any{"f:webhooks": map[string]any{`k:{"name":"a"}`: map[string]any{"f:clientConfig": map[string]any{"f:caBundle": none}}}}, ""},
		"a claim's volume":     {"kube-controller-manager", "", map[string]any{"f:spec": map[string]any{"f:volumeName": none}}, ""},
		"an update of our own": {"k8sconnect", "", mine, ""},
	} {
		live := written(at(config, "one", "2"), test.manager, test.subresource, test.fields)
		for what, note := range map[string]restore.Note{
			"created":   {After: at(config, "one", "1")},
			"recreated": {Before: at(config, "zero", "1"), After: at(config, "one", "1"), Removed: true},
		} {
			got, err := restore.Decide(note, live, "k8sconnect")
			if err != nil || got.Why != test.why || (got.Do == restore.Keep) != (test.why != "") {
				t.Errorf("%s, %s: %s, %q (%v), want %q", what, name, got.Do, got.Why, err, test.why)
			}
		}
	}
}

// Edge case 17: an object with only a name has no owners. Changes of others are then found by its
// content.
func TestDecideObjectWithoutOwners(t *testing.T) {
	config := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	note := restore.Note{After: at(config, "one", "1")}
	live := at(config, "one", "2")
	if got, err := restore.Decide(note, live, "k8sconnect"); err != nil || got.Do != restore.Delete {
		t.Errorf("%s (%v)", got.Do, err)
	}
	live.Object["data"] = map[string]any{"mine": "precious"}
	if got, err := restore.Decide(note, live, "k8sconnect"); err != nil || got.Why != "others have written to it since: .data" {
		t.Errorf("got %s: %s (%v), want keep because of .data", got.Do, got.Why, err)
	}
}

// The UID identifies the object to delete. An object that others have created with the same name
// stays.
func TestDecideByUID(t *testing.T) {
	config := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	job := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	one, two, three := types.UID("one"), types.UID("two"), types.UID("three")
	for name, test := range map[string]struct {
		note restore.Note
		live *unstructured.Unstructured
		want restore.Do
		uid  types.UID
	}{
		"created":                            {restore.Note{After: at(config, one, "1")}, at(config, one, "2"), restore.Delete, one},
		"created, then deleted":              {restore.Note{After: at(config, one, "1")}, nil, restore.Nothing, ""},
		"created, and replaced":              {restore.Note{After: at(config, one, "1")}, at(config, two, "2"), restore.Keep, ""},
		"possibly created":                   {restore.Note{}, at(config, one, "1"), restore.Keep, ""},
		"possibly created, but absent":       {restore.Note{}, nil, restore.Nothing, ""},
		"changed":                            {restore.Note{Before: at(config, one, "1"), After: at(config, one, "2")}, at(config, one, "2"), restore.Apply, ""},
		"possibly changed":                   {restore.Note{Before: at(config, one, "1")}, at(config, one, "2"), restore.Apply, ""},
		"possibly changed, but unchanged":    {restore.Note{Before: at(config, one, "1")}, at(config, one, "1"), restore.Nothing, ""},
		"changed, then deleted":              {restore.Note{Before: at(config, one, "1"), After: at(config, one, "2")}, nil, restore.Keep, ""},
		"changed, and replaced":              {restore.Note{Before: at(config, one, "1"), After: at(config, one, "2")}, at(config, two, "3"), restore.Keep, ""},
		"changed, then being deleted":        {restore.Note{Before: at(config, one, "1"), After: at(config, one, "2")}, at(config, one, "3", "2026-01-01T00:00:00Z"), restore.Keep, ""},
		"recreated":                          {restore.Note{Before: at(config, one, "1"), After: at(config, two, "2"), Removed: true}, at(config, two, "2"), restore.Create, two},
		"deleted to be recreated":            {restore.Note{Before: at(config, one, "1"), Removed: true}, nil, restore.Create, ""},
		"to be recreated, not deleted":       {restore.Note{Before: at(config, one, "1"), Removed: true}, at(config, one, "1"), restore.Nothing, ""},
		"recreated, and replaced":            {restore.Note{Before: at(config, one, "1"), After: at(config, two, "2"), Removed: true}, at(config, three, "3"), restore.Keep, ""},
		"possibly recreated":                 {restore.Note{Before: at(config, one, "1"), Removed: true}, at(config, two, "3"), restore.Keep, ""},
		"a Job is not run again":             {restore.Note{Before: at(job, one, "1"), After: at(job, two, "2"), Removed: true}, at(job, two, "2"), restore.Keep, ""},
		"a deleted Job is not created again": {restore.Note{Before: at(job, one, "1"), Removed: true}, nil, restore.Keep, ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.note.Ref = object.Ref{GVK: config, Name: "x"}
			if test.note.Before != nil {
				test.note.Ref.GVK = test.note.Before.GroupVersionKind()
			}
			got, err := restore.Decide(test.note, test.live, "k8sconnect")
			if err != nil {
				t.Fatal(err)
			}
			if got.Do != test.want || got.UID != test.uid {
				t.Errorf("%s %q, want %s %q", got.Do, got.UID, test.want, test.uid)
			}
			if (got.Do == restore.Keep) != (got.Why != "") {
				t.Errorf("got %s with reason %q, want a reason only for keep", got.Do, got.Why)
			}
		})
	}
}
