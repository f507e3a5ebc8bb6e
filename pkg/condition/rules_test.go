package condition

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Every formula in the built-in table compiles, and the table is not empty.
func TestShippedRules(t *testing.T) {
	table, err := os.ReadFile("kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set, err := ParseRules("kinds.yaml", table)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Kinds()) == 0 || len(ShippedKinds()) != len(set.Kinds()) {
		t.Errorf("%d kinds", len(ShippedKinds()))
	}
}

// Each rule in the table corrects a wrong verdict of the conventions, and changes no right one
// (edge case 95).
func TestTableMatchesRecordedStatuses(t *testing.T) {
	files, err := filepath.Glob("../readiness/testdata/statuses*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	right, wrong := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all []struct {
			Of, Want string
			Object   map[string]any
		}
		if err := yaml.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			text, err := yaml.Marshal(one.Object)
			if err != nil {
				t.Fatal(err)
			}
			obj := objectOf(t, string(text))
			gvk := schema.FromAPIVersionAndKind(obj["apiVersion"].(string), obj["kind"].(string))
			c := compiled(t, gvk, nil, "ready")
			c.Evaluate(t.Context(), obj) // The wait began long ago.
			v := c.EvaluateAt(t.Context(), obj, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
			if v.Met != (one.Want == "ready") || v.Err != nil {
				t.Errorf("%s (%s): want %s, got %+v", one.Of, gvk.Kind, one.Want, v)
				wrong++
				continue
			}
			right++
			if trimmed := c.Evaluate(t.Context(), Trim(obj, c)); trimmed.Met != v.Met || trimmed.Reason == "NotJudged" {
				t.Errorf("%s (%s): another verdict on the trimmed object: %+v", one.Of, gvk.Kind, trimmed)
			}
		}
	}
	t.Logf("%d right, %d wrong", right, wrong)
}

func TestParseRules(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"sound":             {"kinds:\n- {group: example.com, kind: Widget, ready: self.status.size > 0}\n", ""},
		"empty":             {"", "rules.yaml: it is empty; it must contain a list named kinds"},
		"not a list":        {"rules: []\n", "rules.yaml:1: it must contain a list named kinds and nothing else"},
		"not CEL":           {"kinds:\n- group: example.com\n  kind: Widget\n  ready: self.status.\n", "rules.yaml:4: "},
		"not CEL, in lines": {"kinds:\n- group: example.com\n  kind: Widget\n  ready: |\n    self.status.a &&\n    self.status.b + )\n", "rules.yaml:6: "},
		"not a boolean":     {"kinds:\n- {kind: Widget, failed: \"'a'\"}\n", "rules.yaml:2: "},
		"not a string":      {"kinds:\n- {kind: Widget, ready: 'true', message: '1 + 1'}\n", "a message must be a string"},
		"a typo":            {"kinds:\n- {kind: Widget, raedy: 'true'}\n", "rules.yaml:2: unknown field raedy"},
		"a kind twice":      {"kinds:\n- {kind: Widget, ready: 'true'}\n- {kind: Widget, ready: 'true'}\n", "rules.yaml:3: Widget appears twice"},
		"a field twice":     {"kinds:\n- {kind: Widget, ready: 'true', ready: 'false'}\n", "rules.yaml:2: ready appears twice"},
		"two documents":     {"kinds:\n- {kind: Widget, ready: 'true'}\n---\nkinds:\n- {kind: Gadget, ready: 'true'}\n", "rules.yaml:3: it must be a single document"},
		"only a message":    {"kinds:\n- {kind: Widget, message: \"'a'\"}\n", "rules.yaml:2: it must set kind, and ready or failed"},
		"no rule":           {"kinds:\n- {kind: Widget}\n", "rules.yaml:2: it must set kind, and ready or failed"},
	} {
		_, err := ParseRules("rules.yaml", []byte(tc.text))
		if got := ""; err != nil {
			got = err.Error()
			if tc.want == "" || !strings.Contains(got, tc.want) {
				t.Errorf("%s: %s, want %s", name, got, tc.want)
			}
		} else if tc.want != "" {
			t.Errorf("%s: no error", name)
		}
	}
}

// A CRD may have the annotation for the message without the other annotations.
func TestMessageAnnotationAlone(t *testing.T) {
	set := &Set{}
	gk := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	set.Learn(gk, "widgets.example.com", map[string]string{MessageAnnotation: "'a'"})
	rule, _ := set.Of(gk)
	if _, err := compileRule(gk.WithVersion("v1"), rule); err != nil {
		t.Error(err)
	}
}

// If a rule in the table is just "true", a fault in the status still counts.
func TestTrueRuleStillChecksStatus(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}
	for status, want := range map[string]bool{
		"{}": true,
		"{bindings: [{name: p, conditions: [{type: Accepted, status: 'True'}]}]}":                     true,
		"{bindings: [{name: p, conditions: [{type: Accepted, status: 'False', reason: BadRegexp}]}]}": false,
	} {
		obj := objectOf(t, "{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, status: "+status+"}")
		if v := compiled(t, gvk, nil, "ready").Evaluate(t.Context(), obj); v.Met != want {
			t.Errorf("%s: %+v", status, v)
		}
	}
}

// A file outranks the annotations of a CRD, which outrank the table.
func TestRulesOrder(t *testing.T) {
	gk := schema.GroupKind{Group: "flagger.app", Kind: "Canary"}
	from := func(r *Set) string { rule, _ := r.Of(gk); return rule.Ready.Text }
	set := &Set{}
	if rule, _ := Shipped(gk); from(set) != rule.Ready.Text || from(nil) != rule.Ready.Text || rule.Ready.Text == "" {
		t.Error("the table")
	}
	set.Learn(gk, "canaries.flagger.app", map[string]string{ReadyAnnotation: "self.a"})
	if from(set) != "self.a" {
		t.Error("the annotation:", from(set))
	}
	given, err := ParseRules("f", []byte("kinds: [{group: flagger.app, kind: Canary, ready: self.b}]"))
	if err != nil {
		t.Fatal(err)
	}
	given.Learn(gk, "canaries.flagger.app", map[string]string{ReadyAnnotation: "self.a"})
	if from(given) != "self.b" {
		t.Error("the file:", from(given))
	}
}

func TestRuleFromFile(t *testing.T) {
	set, err := ParseRules("f", []byte(`kinds: [{group: example.com, kind: Widget, ready: self.status.size >= 3, failed: self.status.size < 0, message: "'size ' + string(self.status.size)"}]`))
	if err != nil {
		t.Fatal(err)
	}
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	conds, err := Compile(gvk, nil, []Spec{{Kind: Ready, Text: "ready", Rules: set}})
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[string]string{
		"{size: 3}":                        "met Ready: the rule for its kind is met: self.status.size >= 3",
		"{size: 2}":                        "InProgress: size 2",
		"{size: -1}":                       "failed Failed: size -1",
		"{}":                               "InProgress: the rule for its kind is not met yet: self.status.size >= 3",
		"{phase: Failed, message: 'full'}": "InProgress: its phase is Failed: full",
		"{size: 3, observedGeneration: 1}": "StaleStatus: its status is for generation 1, but the object is at generation 2",
	} {
		v := conds[0].Evaluate(t.Context(), objectOf(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}, status: `+status+`}`))
		got := v.Reason + ": " + v.Message
		if v.Failed {
			got = "failed " + got
		}
		if v.Met {
			got = "met " + got
		}
		if got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
	}
}

// If the formula in an annotation does not compile, the error names the annotation.
func TestBadAnnotation(t *testing.T) {
	set := &Set{}
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	set.Learn(gvk.GroupKind(), "widgets.example.com", map[string]string{FailedAnnotation: "self.("})
	_, err := Compile(gvk, nil, []Spec{{Kind: Ready, Text: "ready", Rules: set}})
	if err == nil || !strings.Contains(err.Error(), "customresourcedefinition widgets.example.com, annotation k8sconnect.io/failed: ") {
		t.Error(err)
	}
}
