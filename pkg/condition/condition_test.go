package condition

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NeedsSchema is true for expressions, which get their types from the schema, and false for
// existence. For readiness, it depends on the kind.
func TestNeedsSchema(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	for text, want := range map[string][2]bool{
		"ready": {true, false}, "self.a == 1": {true, true}, "jsonpath={.a}": {true, true}, "create": {}, "delete": {}, "condition=Ready": {},
	} {
		s := must(t, text)
		if got := [2]bool{s.NeedsSchema(widget), s.NeedsSchema(deployment())}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
