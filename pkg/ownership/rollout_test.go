package ownership_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// A digest depends on the object and on the template's values, but not on what the API server adds
// when it converts a template.
func TestTemplateDigest(t *testing.T) {
	digest := func(uid, text string) string {
		var template map[string]any
		if err := yaml.Unmarshal([]byte(text), &template); err != nil {
			t.Fatal(err)
		}
		return ownership.TemplateDigest(types.UID(uid), template)
	}
	const one = `{metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "1"}]}}`
	same := digest("a", one)
	if got := digest("a", `{spec: {containers: [{image: "1", name: app, resources: {}}]}, metadata: {labels: {app: web}, creationTimestamp: null}}`); got != same {
		t.Error("what the API server adds counts")
	}
	if digest("b", one) == same {
		t.Error("the object does not count")
	}
	for _, other := range []string{
		`{metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "2"}]}}`,
		`{metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "1", stdin: false}]}}`,
		`{metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "1", env: [{name: A, value: ""}]}]}}`,
	} {
		if digest("a", other) == same {
			t.Errorf("the same digest: %s", other)
		}
	}
}

// The writer is the owner whose time or fields changed, and none if there are several.
func TestWriterOf(t *testing.T) {
	entry := func(manager, operation string, second int64, fields string) metav1.ManagedFieldsEntry {
		at := metav1.Unix(second, 0)
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "apps/v1", Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	flux := entry("flux", "Apply", 1, `{"f:a":{}}`)
	status := entry("kcm", "Update", 9, `{"f:status":{}}`)
	status.Subresource = "status"
	for name, tt := range map[string]struct {
		before, after []metav1.ManagedFieldsEntry
		manager, want string
	}{
		"its time":                     {[]metav1.ManagedFieldsEntry{flux}, []metav1.ManagedFieldsEntry{entry("flux", "Apply", 2, `{"f:a":{}}`)}, "", "flux (Apply)"},
		"a new owner":                  {[]metav1.ManagedFieldsEntry{flux}, []metav1.ManagedFieldsEntry{entry("flux", "Apply", 1, `{}`), entry("set", "Update", 1, `{"f:a":{}}`)}, "", "set (Update)"},
		"the named one, in its second": {[]metav1.ManagedFieldsEntry{flux}, []metav1.ManagedFieldsEntry{entry("flux", "Apply", 1, `{"f:b":{}}`)}, "flux", "flux (Apply)"},
		"the status is not asked":      {[]metav1.ManagedFieldsEntry{flux}, []metav1.ManagedFieldsEntry{entry("flux", "Apply", 2, `{"f:a":{}}`), status}, "", "flux (Apply)"},
		"nothing changed":              {[]metav1.ManagedFieldsEntry{flux}, []metav1.ManagedFieldsEntry{flux}, "flux", " ()"},
		"two owners":                   {nil, []metav1.ManagedFieldsEntry{flux, entry("flux", "Update", 1, `{"f:b":{}}`)}, "flux", " ()"},
	} {
		got := ownership.WriterOf(tt.before, tt.after, tt.manager)
		if text := fmt.Sprintf("%s (%s)", got.Manager, got.Operation); text != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
	}
}
