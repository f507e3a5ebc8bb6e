package condition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// A report shows the compared values in their order in the expression, and quotes the false
// operands.
func TestValues(t *testing.T) {
	type value = readiness.Value
	for name, c := range map[string]struct {
		expr            string
		want            []value
		reason, message string
	}{
		"a field": {
			expr:   `self.status.readyReplicas == 3`,
			want:   []value{{Expr: "self.status.readyReplicas", Value: int64(2)}},
			reason: "False", message: "false: self.status.readyReplicas == 3",
		},
		"both sides": {
			expr:   `self.status.readyReplicas >= self.spec.replicas`,
			want:   []value{{Expr: "self.status.readyReplicas", Value: int64(2)}, {Expr: "self.spec.replicas", Value: int64(3)}},
			reason: "False", message: "false: self.status.readyReplicas >= self.spec.replicas",
		},
		"the part that is false": {
			expr: `self.status.replicas == 3 && self.status.readyReplicas == 3 && self.metadata.name == 'web'`,
			want: []value{
				{Expr: "self.status.readyReplicas", Value: int64(2)},
			},
			reason: "False", message: "false: self.status.readyReplicas == 3",
		},
		"absent": {
			expr:   `self.status.updatedReplicas == 3`,
			want:   []value{{Expr: "self.status.updatedReplicas", Absent: true}},
			reason: "Absent", message: "there is no self.status.updatedReplicas",
		},
		"an absent label": {
			expr:   `self.metadata.labels['x/y'] == 'z'`,
			want:   []value{{Expr: `self.metadata.labels["x/y"]`, Absent: true}},
			reason: "Absent", message: `there is no self.metadata.labels["x/y"]`,
		},
		"an index past the end": {
			expr:   `self.spec.template.spec.containers[3].image == 'x'`,
			want:   []value{{Expr: "self.spec.template.spec.containers[3].image", Absent: true}},
			reason: "Absent", message: "there is no self.spec.template.spec.containers[3]",
		},
		"absent and false": {
			expr: `self.status.updatedReplicas == 3 && self.status.readyReplicas == 3`,
			want: []value{
				{Expr: "self.status.updatedReplicas", Absent: true},
				{Expr: "self.status.readyReplicas", Value: int64(2)},
			},
			reason: "False", message: "false: self.status.updatedReplicas == 3, self.status.readyReplicas == 3",
		},
		"has": {
			expr:   `has(self.status.updatedReplicas)`,
			want:   []value{{Expr: "self.status.updatedReplicas", Absent: true}},
			reason: "False", message: "false: has(self.status.updatedReplicas)",
		},
		"a list reduced to what is read": {
			expr: `self.status.conditions.exists(c, c.type == 'Available' && c.status == 'False')`,
			want: []value{{Expr: "self.status.conditions", Value: []any{
				map[string]any{"type": "Available", "status": "True"},
				map[string]any{"type": "Progressing", "status": "False"},
			}}},
			reason: "False", message: `false: self.status.conditions.exists(c, c.type == "Available" && c.status == "False")`,
		},
		"a value derived from a list, not the list": {
			expr:   `size(self.spec.template.spec.containers) == 2`,
			want:   []value{{Expr: "size(self.spec.template.spec.containers)", Value: int64(1)}},
			reason: "False", message: "false: size(self.spec.template.spec.containers) == 2",
		},
		"a filtered list": {
			expr:   `self.status.conditions.filter(c, c.status == 'True').size() == 2`,
			want:   []value{{Expr: `self.status.conditions.filter(c, c.status == "True").size()`, Value: int64(1)}},
			reason: "False", message: `false: self.status.conditions.filter(c, c.status == "True").size() == 2`,
		},
		"a sum and its operands": {
			expr: `self.status.readyReplicas + self.status.replicas == 6`,
			want: []value{
				{Expr: "self.status.readyReplicas + self.status.replicas", Value: int64(5)},
				{Expr: "self.status.readyReplicas", Value: int64(2)},
				{Expr: "self.status.replicas", Value: int64(3)},
			},
			reason: "False", message: "false: self.status.readyReplicas + self.status.replicas == 6",
		},
		"an optional": {
			expr: `self.status.?updatedReplicas.orValue(0) == 3`,
			want: []value{
				{Expr: "self.status.?updatedReplicas.orValue(0)", Value: int64(0)},
				{Expr: "self.status.updatedReplicas", Absent: true},
			},
			reason: "False", message: "false: self.status.?updatedReplicas.orValue(0) == 3",
		},
		"an optional read without a default": {
			expr:   `self.status.?updatedReplicas.value() == 3`,
			want:   []value{{Expr: "self.status.updatedReplicas", Absent: true}},
			reason: "Absent", message: "there is no self.status.updatedReplicas",
		},
		"a quantity": {
			expr:   `quantity(self.spec.template.spec.containers[0].resources.limits.memory).isLessThan(quantity('1Mi'))`,
			want:   []value{{Expr: "self.spec.template.spec.containers[0].resources.limits.memory", Value: "1Gi"}},
			reason: "False", message: `false: quantity(self.spec.template.spec.containers[0].resources.limits.memory).isLessThan(quantity("1Mi"))`,
		},
		"times": {
			expr: `self.metadata.creationTimestamp + duration('1h') < timestamp('2026-01-01T00:00:00Z')`,
			want: []value{
				{Expr: `self.metadata.creationTimestamp + duration("1h")`, Value: "2026-01-02T04:04:05Z"},
				{Expr: "self.metadata.creationTimestamp", Value: "2026-01-02T03:04:05Z"},
			},
			reason: "False", message: `false: self.metadata.creationTimestamp + duration("1h") < timestamp("2026-01-01T00:00:00Z")`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := compiled(t, deployment(), publishedSchema(t, deployment()), c.expr).Evaluate(t.Context(), objectOf(t, shop))
			want := Verdict{Reason: c.reason, Message: c.message, Values: c.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A path in a loop may be absent in one item and present in the others.
func TestAbsentInLoop(t *testing.T) {
	got := compiled(t, deployment(), publishedSchema(t, deployment()), `self.status.conditions.all(c, c.reason == 'Slow')`).
		Evaluate(t.Context(), objectOf(t, shop))
	if got.Met || got.Err != nil || got.Reason != "Absent" {
		t.Errorf("got %+v", got)
	}
}

// Edge case 55: an expression that cannot be evaluated is neither met nor not.
func TestExpressionsThatCannotBeEvaluated(t *testing.T) {
	for name, c := range map[string]struct{ expr, obj string }{
		"another type than the schema says": {`self.status.phase == 'x'`, `status: {phase: 7}`},
		"a list where a map should be":      {`self.spec.free.a == 1 && self.status.conditions[0].type == 'x'`, `{spec: {free: {a: 1}}, status: {conditions: {a: b}}}`},
		"types that do not match":           {`self.spec.size > 3`, `spec: {size: 50%}`},
		"not a boolean":                     {`self.spec.free.a`, `spec: {free: {a: 7}}`},
		"not a quantity":                    {`quantity(self.status.phase).isLessThan(quantity('1'))`, `status: {phase: x}`},
		"division by zero":                  {`1 / int(self.status.ratio) == 1`, `status: {ratio: 0}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := compiled(t, widgetKind(), definedSchema(t, widget), c.expr).Evaluate(t.Context(), objectOf(t, c.obj))
			if got.Err == nil || got.Met || got.Failed {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func secrets() schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: "Secret"} }

// No report contains values of a Secret, nor values that an expression derives from them.
func TestSecretStaysSecret(t *testing.T) {
	const secret = `
apiVersion: v1
kind: Secret
metadata:
  name: s
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"password":"aHVudGVyMg=="}}', other: shown}
data: {password: aHVudGVyMg==}
`
	for _, text := range []string{
		`self.data['password'] == b'x'`,
		`self.data.password == b'x'`,
		`string(self.data['password']) == 'x'`,
		`'pre-' + string(self.data['password']) == 'x'`,
		`int(string(self.data['password'])) == 1`,
		`quantity(string(self.data['password'])).isInteger()`,
		`self.data.map(k, string(self.data[k])) == ['x']`,
		`self.metadata.annotations == {'a': 'b'}`,
		`self.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'] == 'x'`,
		`self.data.all(k, self.data[k] == b'x')`,
		`dyn(self).data == {}`,
		`jsonpath={.data.password}=x`,
		`jsonpath={.data.*}=x`,
		`jsonpath={..password}=x`,
		`jsonpath={.data}`,
		`jsonpath={.metadata.annotations}`,
		`jsonpath={.data.password[?(@.x==1)]}=x`,
	} {
		for turn, s := range map[string]any{"typed": true, "dynamic": nil} {
			t.Run(text+"/"+turn, func(t *testing.T) {
				sch := publishedSchema(t, secrets())
				if s == nil {
					sch = nil
				}
				conds, err := Compile(secrets(), sch, []Spec{must(t, text)})
				if err != nil {
					t.Skip("does not compile: ", err)
				}
				got := conds[0].Evaluate(t.Context(), objectOf(t, secret))
				if shown := fmt.Sprintf("%+v %v", got, got.Err); strings.Contains(shown, "hunter2") || strings.Contains(shown, "aHVudGVyMg") || strings.Contains(shown, "[104 117 110") {
					t.Errorf("shows the value: %s", shown)
				}
			})
		}
	}
	got := compiled(t, secrets(), publishedSchema(t, secrets()), `self.data['password'] == b'hunter2'`).Evaluate(t.Context(), objectOf(t, secret))
	want := []readiness.Value{{Expr: `self.data["password"]`, Value: redact.Mask}}
	if diff := cmp.Diff(want, got.Values); diff != "" || !got.Met {
		t.Errorf("met %v, %s", got.Met, diff)
	}
}
