package cel

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Nested loops can have a low cost in CEL. They end at the time limit, and the result is unknown.
func TestEndlessExpression(t *testing.T) {
	l := Language{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}
	x, err := l.Compile("lists.range(100000).all(x, lists.range(100000).all(y, x + y >= 0))")
	if err != nil {
		t.Fatal(err)
	}
	if x.longest != 2*time.Second {
		t.Errorf("the time limit is %s", x.longest)
	}
	x.longest = 50 * time.Millisecond // The test takes all of it.
	got := x.Evaluate(t.Context(), map[string]any{"apiVersion": "v1", "kind": "ConfigMap"})
	if got.Met || got.Err == nil || got.Err.Error() != "the expression took longer than 50ms" {
		t.Errorf("%+v", got)
	}
}

// The author of a CRD writes expressions that run on the user's machine. Such an expression cannot
// exhaust memory or time, neither with loops nor with one call.
func TestExpensiveExpressions(t *testing.T) {
	const replace = `.replace("x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")`
	items := make([]any, 2000)
	for i := range items {
		items[i] = "x"
	}
	obj := map[string]any{"apiVersion": "v1", "kind": "Bomb", "spec": map[string]any{"l": items, "s": strings.Repeat("x", 1<<20)}}
	nested := "[self.spec.l]"
	for range 30 {
		nested += ".map(a, [a, a])"
	}
	for name, typed := range map[string]string{
		"replace":        `self.spec.l.map(a, "xxxxxxxxxx").join(",")` + strings.Repeat(replace, 3) + `.size() > 0`,
		"replace, false": `self.spec.l.map(a, "xxxxxxxxxx").join(",")` + strings.Repeat(replace, 4) + `.size() < 0`,
		"replace all":    `self.spec.s.replace("", self.spec.s).size() > 0`,
		"join":           `self.spec.l.map(a, self.spec.s).join(",").size() > 0`,
		"join by much":   `self.spec.l.join(self.spec.s).size() > 0`,
		"format":         `"%s%s%s%s%s%s%s%s".format([self.spec.l.map(a, self.spec.s), 1, 1, 1, 1, 1, 1, 1]).size() > 0`,
		"add":            `[self.spec.s]` + strings.Repeat(".map(a, a + a)", 12) + `[0].size() > 0`,
		"flatten":        `self.spec.l.map(a, self.spec.l.map(b, self.spec.l)).flatten(3).size() > 0`,
		"range":          `lists.range(1000000000).size() > 0`,
		"equality":       nested + " == " + nested,
		"membership":     nested + " in [" + nested + "]",
	} {
		t.Run(name, func(t *testing.T) {
			l := Language{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Bomb"}}
			x, err := l.Compile(typed)
			if err != nil {
				t.Fatal(err)
			}
			x.longest = time.Hour // Only size and cost should end it.
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := x.Evaluate(t.Context(), obj)
			runtime.ReadMemStats(&after)
			if got.Met || got.Err == nil || !strings.HasPrefix(got.Err.Error(), "the expression is too expensive") {
				t.Errorf("%+v", got)
			}
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 400 {
				t.Errorf("the evaluation allocated %d MB", made)
			}
		})
	}
}
