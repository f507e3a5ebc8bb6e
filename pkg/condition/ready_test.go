package condition

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
)

// A schema without fields, or one that allows any field, does not prove that the kind has no
// status.
func TestHasNoStatus(t *testing.T) {
	with := func(fields ...string) *spec.Schema {
		s := &spec.Schema{}
		s.Properties = map[string]spec.Schema{}
		for _, field := range fields {
			s.Properties[field] = spec.Schema{}
		}
		return s
	}
	anything := with("spec")
	anything.Extensions = spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}
	for name, tc := range map[string]struct {
		schema *spec.Schema
		want   bool
	}{
		"none": {nil, false}, "empty": {&spec.Schema{}, false}, "any field": {anything, false},
		"a status": {with("spec", "status"), false}, "no status": {with("metadata", "spec"), true},
	} {
		if got := cel.HasNoStatus(tc.schema); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An error from before the wait may have been fixed just now. It fails the object only if it lasts
// for the grace period from the start of the wait.
func TestReadyErrorFromBeforeTheWait(t *testing.T) {
	obj := objectOf(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Ready, status: "False", reason: FetchFailed, lastTransitionTime: "2026-01-01T10:00:00Z"}]}}`)
	c := compiled(t, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, nil, "ready")
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	if v := c.EvaluateAt(t.Context(), obj, began); v.Failed || v.Recheck != 2*time.Minute {
		t.Errorf("at once: %+v", v)
	}
	if v := c.EvaluateAt(t.Context(), obj, began.Add(2*time.Minute)); !v.Failed {
		t.Errorf("after two minutes: %+v", v)
	}
}
