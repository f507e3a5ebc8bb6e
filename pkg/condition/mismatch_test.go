package condition

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An error about types that do not match names the values, because users know the object and not
// cel-go. For a Secret, the error does not name them.
func TestMismatchNamesItsOperands(t *testing.T) {
	obj := map[string]any{"status": map[string]any{"members": "x", "ready": int64(2)}}
	db := schema.GroupVersionKind{Group: "e.com", Version: "v1", Kind: "Db"}
	for expression, want := range map[string]string{
		"self.status.members >= 3":                         "self.status.members is a string, an int",
		"self.status.ready > self.status.members":          "self.status.ready is an int, self.status.members is a string",
		"self.status.ready.startsWith('a')":                "self.status.ready is an int, a string",
		"!self.status.members":                             "self.status.members is a string",
		"self.status.ready + self.status.members == 'two'": "self.status.ready is an int, self.status.members is a string",
	} {
		v := compiled(t, db, nil, expression).Evaluate(t.Context(), obj)
		if v.Err == nil || !strings.Contains(v.Err.Error(), want) || strings.Contains(v.Err.Error(), "overload") {
			t.Errorf("%s: %v, want %q", expression, v.Err, want)
		}
	}
	secret := compiled(t, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, nil, "self.status.members >= 3").Evaluate(t.Context(), obj)
	if secret.Err == nil || strings.Contains(secret.Err.Error(), "members") {
		t.Errorf("for a Secret: %v", secret.Err)
	}
}
