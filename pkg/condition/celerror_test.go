package condition

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// A wrong expression is reported before the wait begins. The error has the position and a
// suggestion.
func TestExpressionErrors(t *testing.T) {
	typed := publishedSchema(t, deployment())
	for name, c := range map[string]struct {
		text, want, hint string
		kind             schema.GroupVersionKind
		schema           *spec.Schema
	}{
		"misspelled field": {
			text: `self.status.readyReplica == 3`,
			want: `"self.status.readyReplica == 3", column 13: self.status has no field readyReplica in Deployment`,
			hint: "did you mean self.status.readyReplicas?",
		},
		"after cel=": {
			text: `cel=self.status.readyReplica == 3`,
			want: `"cel=self.status.readyReplica == 3", column 17: self.status has no field readyReplica in Deployment`,
			hint: "did you mean self.status.readyReplicas?",
		},
		"at the root": {
			text: `self.stats.x == 3`,
			want: `"self.stats.x == 3", column 6: self has no field stats in Deployment`,
			hint: "did you mean self.status?",
		},
		"in metadata": {
			text: `has(self.metadata.deletiontimestamp)`,
			want: `"has(self.metadata.deletiontimestamp)", column 19: self.metadata has no field deletiontimestamp in Deployment`,
			hint: "did you mean self.metadata.deletionTimestamp?",
		},
		"in a loop": {
			text: `self.status.conditions.exists(c, c.typ == 'Ready')`,
			want: `"self.status.conditions.exists(c, c.typ == 'Ready')", column 36: c has no field typ in Deployment`,
			hint: "did you mean c.type?",
		},
		"after filter": {
			text: `self.status.conditions.filter(c, c.type == 'Ready')[0].statu == 'x'`,
			want: `"self.status.conditions.filter(c, c.type == 'Ready')[0].statu == 'x'", column 56: self.status.conditions.filter(c, c.type == "Ready")[0] has no field statu in Deployment`,
			hint: "did you mean self.status.conditions.filter(c, c.type == \"Ready\")[0].status?",
		},
		"no similar field": {
			text: `self.spec.strategy.zzz == 3`,
			want: `"self.spec.strategy.zzz == 3", column 20: self.spec.strategy has no field zzz in Deployment`,
			hint: "the fields are: rollingUpdate, type",
		},
		"second line": {
			text: "self.status.replicas == 3 &&\nself.status.redyReplicas == 3",
			want: `line 2, column 13: self.status has no field redyReplicas in Deployment`,
			hint: "did you mean self.status.readyReplicas?",
		},
		"types that do not match": {
			text: `self.status.readyReplicas == '3'`,
			want: `column 27: found no matching overload for '_==_' applied to '(int, string)'`,
		},
		"no self": {
			text: `status.readyReplicas == 3`,
			want: `column 1: there is no variable status`,
			hint: "did you mean self.status?",
		},
		"number": {
			text: `self.status.readyReplicas`, want: `it is an int, but a condition must be true or false`, hint: "compare it, as in EXPRESSION == VALUE",
		},
		"optional": {
			text: `self.status.?readyReplicas`, want: `a condition must be true or false`, hint: "give a default for when it is absent: .orValue(false)",
		},
		"a single =": {
			text: `self.status.phase = 'Bound'`, want: `column 19: `, hint: "compare with ==, as in self.status.phase == 'Bound'",
		},
		"ends too soon": {
			text: `self.status.readyReplicas ==`, want: `column 29: Syntax error: mismatched input '<EOF>'`,
		},
		"= in a string": {
			text: `self.metadata.name == "a=b" &&`, want: `Syntax error: mismatched input '<EOF>'`,
		},
		"regular expression": {
			text: `self.metadata.name.matches('[')`, want: `column 28: `,
		},
		"kind with open fields": {
			text: `self.status.phas == 'x'`, kind: widgetKind(), schema: definedSchema(t, widget),
			want: `self.status has no field phas in Widget`, hint: "did you mean self.status.phase?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			kind, s := c.kind, c.schema
			if s == nil {
				kind, s = deployment(), typed
			}
			_, err := Compile(kind, s, []Spec{must(t, c.text)})
			if err == nil {
				t.Fatal("compiles")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			hinted, ok := errors.AsType[*CompileError](err)
			if !ok {
				t.Fatalf("%T is not a CompileError", err)
			}
			if diff := cmp.Diff(c.hint, hinted.Hint()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Every wrong spec is reported, not only the first.
func TestCompileJoins(t *testing.T) {
	_, err := Compile(deployment(), publishedSchema(t, deployment()),
		[]Spec{must(t, "self.a == 1"), must(t, "ready"), must(t, "self.b == 1"), must(t, "jsonpath={.spec.c}")})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 3 {
		t.Errorf("got %v", err)
	}
}
