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

// The UID decides which object is meant: what the run created is deleted, and nothing
// that others have put in its place.
func TestDecideWhatIsMeant(t *testing.T) {
	config := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	job := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	one, two, three := types.UID("one"), types.UID("two"), types.UID("three")
	for name, test := range map[string]struct {
		note restore.Note
		live *unstructured.Unstructured
		want restore.Do
		uid  types.UID
	}{
		"created":                       {restore.Note{After: at(config, one, "1")}, at(config, one, "2"), restore.Delete, one},
		"created, and gone":             {restore.Note{After: at(config, one, "1")}, nil, restore.Nothing, ""},
		"created, and replaced":         {restore.Note{After: at(config, one, "1")}, at(config, two, "2"), restore.Keep, ""},
		"perhaps created":               {restore.Note{}, at(config, one, "1"), restore.Keep, ""},
		"perhaps created, and not":      {restore.Note{}, nil, restore.Nothing, ""},
		"changed":                       {restore.Note{Before: at(config, one, "1"), After: at(config, one, "2")}, at(config, one, "2"), restore.Apply, ""},
		"perhaps changed":               {restore.Note{Before: at(config, one, "1")}, at(config, one, "2"), restore.Apply, ""},
		"perhaps changed, and not":      {restore.Note{Before: at(config, one, "1")}, at(config, one, "1"), restore.Nothing, ""},
		"changed, and gone":             {restore.Note{Before: at(config, one, "1"), After: at(config, one, "2")}, nil, restore.Keep, ""},
		"changed, and replaced":         {restore.Note{Before: at(config, one, "1"), After: at(config, one, "2")}, at(config, two, "3"), restore.Keep, ""},
		"changed, and going":            {restore.Note{Before: at(config, one, "1"), After: at(config, one, "2")}, at(config, one, "3", "2026-01-01T00:00:00Z"), restore.Keep, ""},
		"recreated":                     {restore.Note{Before: at(config, one, "1"), After: at(config, two, "2"), Removed: true}, at(config, two, "2"), restore.Create, two},
		"deleted to be recreated":       {restore.Note{Before: at(config, one, "1"), Removed: true}, nil, restore.Create, ""},
		"to be recreated, not deleted":  {restore.Note{Before: at(config, one, "1"), Removed: true}, at(config, one, "1"), restore.Nothing, ""},
		"recreated, and replaced":       {restore.Note{Before: at(config, one, "1"), After: at(config, two, "2"), Removed: true}, at(config, three, "3"), restore.Keep, ""},
		"perhaps recreated":             {restore.Note{Before: at(config, one, "1"), Removed: true}, at(config, two, "3"), restore.Keep, ""},
		"a Job is not run again":        {restore.Note{Before: at(job, one, "1"), After: at(job, two, "2"), Removed: true}, at(job, two, "2"), restore.Keep, ""},
		"a deleted Job is not run anew": {restore.Note{Before: at(job, one, "1"), Removed: true}, nil, restore.Keep, ""},
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
				t.Errorf("%s, because %q", got.Do, got.Why)
			}
		})
	}
}
