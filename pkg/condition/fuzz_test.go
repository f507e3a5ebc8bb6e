package condition

import (
	"testing"
	"time"
)

// Whatever is typed, it is refused or judged: nothing panics, and a verdict is
// never met and unknown at once.
func FuzzConditions(f *testing.F) {
	for _, text := range []string{
		"ready", "condition=Ready=False", "jsonpath={.status.phase}=Running", "self.status.readyReplicas == self.spec.replicas",
		"self.status.?conditions.orValue([]).exists(c, c.type == 'x')", "has(self.status.x)", "self.metadata.labels['a'] in ['b']",
		"self.status.conditions[0].type.matches('^A')", "jsonpath={.a[?(@.b==1)]}", "{}", "[self]", "self.a[self.b]", "quantity('1') == self.x",
	} {
		f.Add(text)
	}
	typed := schemaOf(f, "deployment")
	f.Fuzz(func(t *testing.T, text string) {
		one, err := Parse(text)
		if err != nil {
			return
		}
		obj := objectOf(t, web)
		conds, err := Compile(deployment(), typed, []Spec{one})
		if err != nil {
			if conds, err = Compile(deployment(), nil, []Spec{one}); err != nil {
				_ = err.Error()
				return
			}
		}
		got := conds[0].JudgeAt(t.Context(), obj, time.Unix(1e9, 0))
		if got.Met && (got.Err != nil || got.Failed) {
			t.Errorf("%q: %+v", text, got)
		}
		_ = Trim(obj, conds...)
	})
}
