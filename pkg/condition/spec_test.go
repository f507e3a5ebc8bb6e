package condition

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Spec{
		"ready":                      {Kind: Ready},
		"create":                     {Kind: Create},
		"delete":                     {Kind: Delete},
		"cel=self.x == 1":            {Kind: CEL, Expression: "self.x == 1"},
		"self.x == 1":                {Kind: CEL, Expression: "self.x == 1"},
		"true":                       {Kind: CEL, Expression: "true"},
		"condition=Ready":            {Kind: Status, Type: "Ready", Value: "True", HasValue: true},
		"condition=Ready=False":      {Kind: Status, Type: "Ready", Value: "False", HasValue: true},
		"jsonpath={.status.phase}":   {Kind: JSONPath, Expression: "{.status.phase}"},
		"jsonpath='{.a}'=b":          {Kind: JSONPath, Expression: "{.a}", Value: "b", HasValue: true},
		"jsonpath=.status.phase=Run": {Kind: JSONPath, Expression: "{.status.phase}", Value: "Run", HasValue: true},
		"jsonpath=status.phase=Run":  {Kind: JSONPath, Expression: "{.status.phase}", Value: "Run", HasValue: true},
		`jsonpath={.c[?(@.t=="R")].s}=True`: {
			Kind: JSONPath, Expression: `{.c[?(@.t=="R")].s}`, Value: "True", HasValue: true,
		},
		"jsonpath={.a}=b=c": {Kind: JSONPath, Expression: "{.a}", Value: "b=c", HasValue: true},
	} {
		want.Text = text
		got, err := Parse(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{
		"", " ", "cel=", "condition=", "condition==True", "condition=Ready=", "jsonpath=", "jsonpath={.a", "jsonpath={.a}b",
		"jsonpath={.a}=", "jsonpath={.a[}]}", "redy", "deleted", "Available", "conditon=Ready", "ready=true",
	} {
		_, err := Parse(text)
		var hint interface{ Hint() string }
		if err == nil {
			t.Errorf("%q: no error", text)
		} else if ok := asHint(err, &hint); !ok || hint.Hint() == "" {
			t.Errorf("%q: no hint: %v", text, err)
		}
	}
}

func asHint(err error, to *interface{ Hint() string }) bool {
	h, ok := err.(interface{ Hint() string })
	*to = h
	return ok
}

// Edge case 47: a status or a condition for an earlier generation is not current. The observed
// generation may be a number or a string.
func TestStatusCondition(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "x.example", Version: "v1", Kind: "Thing"}
	tests := map[string]struct {
		status string
		met    bool
		reason string
	}{
		"true":                   {status: `{conditions: [{type: Ready, status: "True"}]}`, met: true, reason: "Condition"},
		"different case":         {status: `{conditions: [{type: ready, status: "true", reason: Fine}]}`, met: true, reason: "Fine"},
		"false":                  {status: `{conditions: [{type: Ready, status: "False", reason: Down}]}`, reason: "Down"},
		"absent":                 {status: `{conditions: [{type: Other, status: "True"}]}`, reason: "Absent"},
		"no status":              {status: `{}`, reason: "Absent"},
		"current":                {status: `{observedGeneration: 4, conditions: [{type: Ready, status: "True", observedGeneration: 4}]}`, met: true, reason: "Condition"},
		"stale":                  {status: `{observedGeneration: 3, conditions: [{type: Ready, status: "True"}]}`, reason: "StaleStatus"},
		"stale as a string":      {status: `{observedGeneration: "3", conditions: [{type: Ready, status: "True"}]}`, reason: "StaleStatus"},
		"stale in the condition": {status: `{conditions: [{type: Ready, status: "True", observedGeneration: 3}]}`, reason: "StaleStatus"},
		"only condition current": {status: `{observedGeneration: 3, conditions: [{type: Ready, status: "True", observedGeneration: 4}]}`, met: true, reason: "Condition"},
		"only status current":    {status: `{observedGeneration: 4, conditions: [{type: Ready, status: "True", observedGeneration: 3}]}`, reason: "StaleStatus"},
		"conditions not a list":  {status: `{conditions: {}}`, reason: "Absent"},
		"conditions not maps":    {status: `{conditions: [1, a]}`, reason: "Absent"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := compiled(t, gvk, nil, "condition=Ready")
			got := c.Evaluate(t.Context(), objectOf(t, "{metadata: {name: a, generation: 4}, status: "+test.status+"}"))
			if got.Met != test.met || got.Reason != test.reason || got.Err != nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A missing condition may still be set later, or its name may be a typo. So the message lists the
// existing conditions.
func TestAbsentCondition(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "x.example", Version: "v1", Kind: "Thing"}
	for status, want := range map[string]string{
		`{}`: "there is no condition Avialable",
		`{conditions: [{type: Progressing}, {type: Available, status: "False"}]}`:      "there is no condition Avialable; did you mean Available?",
		`{conditions: [{type: Progressing}, {type: Progressing}, {type: Stalled}, 1]}`: "there is no condition Avialable; it has Progressing, Stalled",
		`{conditions: [{type: a}, {type: b}, {type: c}, {type: d}, {type: e}, {type: f}, {type: g}, {type: h}, {type: i}, {type: j}]}`: "there is no condition Avialable; " +
			"it has a, b, c, d, e, f, g, h, 2 more",
	} {
		c := compiled(t, gvk, nil, "condition=Avialable")
		got := c.Evaluate(t.Context(), objectOf(t, "{metadata: {name: a}, status: "+status+"}"))
		if got.Message != want || got.Reason != "Absent" || got.Met {
			t.Errorf("%s: %q (%s)", status, got.Message, got.Reason)
		}
	}
}

func TestJSONPath(t *testing.T) {
	tests := map[string]struct {
		met    bool
		reason string
	}{
		"jsonpath={.status.readyReplicas}=2":                                 {true, "Equal"},
		"jsonpath=.status.readyReplicas=3":                                   {false, "NotEqual"},
		"jsonpath={.status.availableReplicas}=3":                             {false, "Absent"},
		"jsonpath={.status.availableReplicas}":                               {false, "Absent"},
		"jsonpath={.status.conditions}":                                      {true, "Found"},
		`jsonpath={.status.conditions[?(@.type=="Available")].status}=False`: {true, "Equal"},
		`jsonpath={.status.conditions[?(@.type=="None")].status}=True`:       {false, "Absent"},
		"jsonpath={.status.loadBalancer.ingress[0].ip}":                      {false, "Absent"},
		"jsonpath={.spec.paused}=false":                                      {true, "Equal"},
	}
	for text, want := range tests {
		got := compiled(t, deployment(), nil, text).Evaluate(t.Context(), objectOf(t, web))
		if got.Met != want.met || got.Reason != want.reason || got.Err != nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestExistence(t *testing.T) {
	obj := objectOf(t, "{metadata: {name: a}}")
	for _, test := range []struct {
		text string
		obj  map[string]any
		met  bool
	}{
		{"create", nil, false},
		{"create", obj, true},
		{"delete", nil, true},
		{"delete", obj, false},
		{"ready", nil, false},
		{"true", nil, false},
		{"condition=Ready", nil, false},
		{"jsonpath={.a}", nil, false},
	} {
		if got := compiled(t, deployment(), nil, test.text).Evaluate(t.Context(), test.obj); got.Met != test.met || got.Err != nil {
			t.Errorf("%s of %v: %+v", test.text, test.obj, got)
		}
	}
}

// A missing field is reported as absent, not as an error. A panic in the library is reported as an
// error.
func TestJSONPathEdgeCases(t *testing.T) {
	for text, want := range map[string]string{
		"jsonpath={.status.conditions[9].status}=True":             "Absent",
		"jsonpath={.status.conditions[-1].status}=True":            "Equal",
		"jsonpath={.status.conditions[*].status}=True":             "NotJudged",
		"jsonpath={.status.conditions[?(@.none[3]>1)].status}":     "Absent",
		"jsonpath={..image}=web:1":                                 "Equal",
		`jsonpath={.metadata.labels.app\.kubernetes\.io/name}=web`: "Equal",
	} {
		got := compiled(t, deployment(), schemaOf(t, "deployment"), text).Evaluate(t.Context(), objectOf(t, web))
		if got.Reason != want || (got.Err != nil) != (want == "NotJudged") {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for text, hint := range map[string]string{
		"jsonpath={.status.readyReplica}=3": "did you mean .status.readyReplicas?",
		"jsonpath=status.conditions[0].typ": "did you mean .status.conditions[0].type?",
		"jsonpath={.stats}":                 "did you mean .status?",
	} {
		_, err := Compile(deployment(), schemaOf(t, "deployment"), []Spec{must(t, text)})
		if wrong, ok := errors.AsType[*CompileError](err); !ok || wrong.Hint() != hint {
			t.Errorf("%s: %v", text, err)
		}
	}
}
