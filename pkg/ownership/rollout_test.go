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

// The writer is the owner that the client named or, if that may be either of two, the one with a new time or
// new fields.
func TestWriterOf(t *testing.T) {
	entry := func(manager, operation string, second int64, fields string) metav1.ManagedFieldsEntry {
		at := metav1.Unix(second, 0)
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "apps/v1", Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	type fields = []metav1.ManagedFieldsEntry
	flux := entry("flux", "Apply", 1, `{"f:a":{}}`)
	lost := entry("flux", "Apply", 1, `{}`)
	status := entry("kcm", "Update", 9, `{"f:status":{}}`)
	status.Subresource = "status"
	for name, tt := range map[string]struct {
		before, after fields
		manager, want string
	}{
		"its time":                     {before: fields{flux}, after: fields{entry("flux", "Apply", 2, `{"f:a":{}}`)}, want: "flux (Apply)"},
		"a new owner":                  {before: fields{flux}, after: fields{lost, entry("set", "Update", 1, `{"f:a":{}}`)}, want: "set (Update)"},
		"more fields, in its second":   {before: fields{flux}, after: fields{entry("flux", "Apply", 1, `{"f:b":{}}`)}, want: "flux (Apply)"},
		"the status is not asked":      {before: fields{flux}, after: fields{entry("flux", "Apply", 2, `{"f:a":{}}`), status}, want: "flux (Apply)"},
		"two owners":                   {after: fields{flux, entry("flux", "Update", 1, `{"f:b":{}}`)}, want: " ()"},
		"an unnamed removal":           {before: fields{flux}, after: fields{lost}, want: " ()"},
		"a named removal":              {before: fields{flux}, after: fields{lost}, manager: "keel", want: "keel (Update)"},
		"the named one, in its second": {before: fields{flux}, after: fields{entry("flux", "Apply", 1, `{"f:b":{}}`)}, manager: "flux", want: "flux (Apply)"},
		"its values, in its second":    {before: fields{flux}, after: fields{flux}, manager: "flux", want: " ()"},
		"a removal by one of two":      {before: fields{flux}, after: fields{lost}, manager: "flux", want: " ()"},
		"an apply that removes":        {before: fields{flux}, after: fields{entry("flux", "Apply", 2, `{}`)}, manager: "flux", want: "flux (Apply)"},
		"an apply that removes all":    {before: fields{flux}, manager: "flux", want: " ()"},
		"an update beside its apply":   {before: fields{flux}, after: fields{lost, entry("flux", "Update", 2, `{"f:a":{}}`)}, manager: "flux", want: "flux (Update)"},
		"its first apply":              {after: fields{flux}, manager: "flux", want: "flux (Apply)"},
	} {
		got := ownership.WriterOf(tt.before, tt.after, tt.manager, "apps/v1")
		if text := fmt.Sprintf("%s (%s)", got.Manager, got.Operation); text != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
	}
}
