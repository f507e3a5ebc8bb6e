package expression

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Loops in loops, which cost CEL little, end when their time is over, and are unknown.
func TestEndless(t *testing.T) {
	l := Language{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}
	x, err := l.Compile("lists.range(100000).all(x, lists.range(100000).all(y, x + y >= 0))")
	if err != nil {
		t.Fatal(err)
	}
	if x.longest != 2*time.Second {
		t.Errorf("it may take %s", x.longest)
	}
	x.longest = 50 * time.Millisecond // All of it would be burnt.
	got := x.Evaluate(t.Context(), map[string]any{"apiVersion": "v1", "kind": "ConfigMap"})
	if got.Met || got.Err == nil || got.Err.Error() != "the expression takes longer than 50ms" {
		t.Errorf("%+v", got)
	}
}
