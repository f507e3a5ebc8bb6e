package condition

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

func deployment() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
}

// schemaOf reads a schema in testdata.
func schemaOf(t testing.TB, name string) *spec.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var s spec.Schema
	if err := yaml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// objectOf parses an object as a client decodes it: whole numbers become int64.
func objectOf(t testing.TB, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return whole(obj).(map[string]any)
}

func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

func compiled(t testing.TB, gvk schema.GroupVersionKind, s *spec.Schema, text string) *Condition {
	t.Helper()
	one, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	conds, err := Compile(gvk, s, []Spec{one})
	if err != nil {
		t.Fatal(err)
	}
	return conds[0]
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: prod
  generation: 2
  labels: {app: web, app.kubernetes.io/name: web}
  creationTimestamp: "2026-01-02T03:04:05Z"
  managedFields:
  - {manager: a, time: "2026-01-02T03:04:05Z", fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: b, time: "2026-01-02T03:04:06Z", fieldsV1: {"f:status": {}}}
spec:
  replicas: 3
  paused: false
  strategy: {rollingUpdate: {maxSurge: 25%}}
  template:
    spec:
      containers:
      - name: app
        image: web:1
        resources: {limits: {memory: 1Gi}}
status:
  readyReplicas: 2
  conditions:
  - {type: Available, status: "False", reason: MinimumReplicasUnavailable, lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Progressing, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}
`

func TestCEL(t *testing.T) {
	tests := map[string]struct {
		met    bool
		reason string
		values []readiness.Value
	}{
		"self.status.readyReplicas == self.spec.replicas": {reason: "False", values: []readiness.Value{
			{Expr: "self.status.readyReplicas", Value: int64(2)}, {Expr: "self.spec.replicas", Value: int64(3)},
		}},
		"self.status.readyReplicas >= 2": {met: true, reason: "True", values: []readiness.Value{{Expr: "self.status.readyReplicas", Value: int64(2)}}},
		// If a field is absent, the condition is not met, and the message names the field.
		"self.status.availableReplicas > 0":                       {reason: "Absent", values: []readiness.Value{{Expr: "self.status.availableReplicas", Absent: true}}},
		"has(self.status.availableReplicas)":                      {reason: "False", values: []readiness.Value{{Expr: "self.status.availableReplicas", Absent: true}}},
		"!has(self.status.availableReplicas)":                     {met: true, reason: "True", values: []readiness.Value{{Expr: "self.status.availableReplicas", Absent: true}}},
		"self.status.?availableReplicas.orValue(0) == 3":          {reason: "False", values: []readiness.Value{{Expr: "self.status.?availableReplicas.orValue(0)", Value: int64(0)}, {Expr: "self.status.availableReplicas", Absent: true}}},
		"self.metadata.labels['tier'] == 'web'":                   {reason: "Absent", values: []readiness.Value{{Expr: `self.metadata.labels["tier"]`, Absent: true}}},
		"self.metadata.labels['app.kubernetes.io/name'] == 'web'": {met: true, reason: "True", values: []readiness.Value{{Expr: `self.metadata.labels["app.kubernetes.io/name"]`, Value: "web"}}},
		// The report quotes only the false operand of &&.
		"self.metadata.generation == 2 && self.status.readyReplicas == 3": {reason: "False", values: []readiness.Value{{Expr: "self.status.readyReplicas", Value: int64(2)}}},
		// For a list, the report shows the value derived from it, such as its size. For a
		// comprehension, it shows the values that the comprehension read.
		"size(self.status.conditions) == 3": {reason: "False", values: []readiness.Value{
			{Expr: "size(self.status.conditions)", Value: int64(2)},
		}},
		"self.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')": {reason: "False", values: []readiness.Value{
			{Expr: "self.status.conditions", Value: []any{
				map[string]any{"type": "Available", "status": "False"}, map[string]any{"type": "Progressing", "status": "True"},
			}},
		}},
		// The second item of status.conditions has no reason, so the result is Absent.
		"self.status.conditions.all(c, c.reason != 'x')": {reason: "Absent", values: []readiness.Value{
			{Expr: "self.status.conditions", Value: []any{map[string]any{"reason": "MinimumReplicasUnavailable"}, map[string]any{}}},
		}},
		"quantity(self.spec.template.spec.containers[0].resources.limits['memory']).isGreaterThan(quantity('512Mi'))": {met: true, reason: "True", values: []readiness.Value{
			{Expr: `self.spec.template.spec.containers[0].resources.limits["memory"]`, Value: "1Gi"},
		}},
		// Times are compared as times. An int-or-string is compared by the type that it actually
		// has.
		"self.metadata.creationTimestamp < timestamp('2026-02-01T00:00:00Z')": {met: true, reason: "True", values: []readiness.Value{{Expr: "self.metadata.creationTimestamp", Value: "2026-01-02T03:04:05Z"}}},
		"self.spec.strategy.rollingUpdate.maxSurge == '25%'":                  {met: true, reason: "True", values: []readiness.Value{{Expr: "self.spec.strategy.rollingUpdate.maxSurge", Value: "25%"}}},
		"self.metadata.namespace == 'prod'":                                   {met: true, reason: "True", values: []readiness.Value{{Expr: "self.metadata.namespace", Value: "prod"}}},
	}
	for name, schema := range map[string]*spec.Schema{"typed": schemaOf(t, "deployment"), "dynamic": nil} {
		t.Run(name, func(t *testing.T) {
			for text, want := range tests {
				if schema == nil && (strings.Contains(text, "timestamp") || strings.Contains(text, "metadata.namespace") || strings.Contains(text, "c.reason")) {
					continue // Without a schema, times are strings, "namespace" is a keyword, and the reads of a loop are unknown.
				}
				t.Run(text, func(t *testing.T) {
					got := compiled(t, deployment(), schema, text).Evaluate(t.Context(), objectOf(t, web))
					if got.Met != want.met || got.Reason != want.reason || got.Err != nil {
						t.Errorf("%+v", got)
					}
					if diff := cmp.Diff(want.values, got.Values); diff != "" {
						t.Errorf("values: %s", diff)
					}
				})
			}
		})
	}
}

// A false operand is quoted as the user wrote it, even if it is a loop, which CEL expands.
func TestCELMessage(t *testing.T) {
	const loop = `self.status.conditions.exists(c, c.type == "Available" && c.status == "True")`
	for text, want := range map[string]string{
		loop: "false: " + loop,
		"self.metadata.generation == 2 && " + loop: "false: " + loop,
	} {
		if got := compiled(t, deployment(), schemaOf(t, "deployment"), text).Evaluate(t.Context(), objectOf(t, web)); got.Message != want {
			t.Errorf("%s: %s", text, got.Message)
		}
	}
}

// Trim keeps only the fields that the conditions read, and the trimmed object has the same verdict.
func TestTrim(t *testing.T) {
	s := schemaOf(t, "deployment")
	for text, want := range map[string][]string{
		"self.status.readyReplicas == 3":                                {"apiVersion", "kind", "metadata", "status"},
		"self.spec.replicas == 1 || self.metadata.labels['app'] == 'x'": {"apiVersion", "kind", "metadata", "spec"},
		"condition=Available":                                           {"apiVersion", "kind", "metadata", "status"},
		"create":                                                        {"apiVersion", "kind", "metadata"},
		"self.status.conditions.exists(c, c.status == 'False') && self != null": {"apiVersion", "kind", "metadata", "spec", "status"},
		"jsonpath={.status.conditions[?(@.type==\"Available\")].status}=False":  {"apiVersion", "kind", "metadata", "status"},
		"jsonpath={.status.conditions[-1:].status}=True":                        {"apiVersion", "kind", "metadata", "status"},
		"ready": {"apiVersion", "kind", "metadata", "spec", "status"},
	} {
		t.Run(text, func(t *testing.T) {
			c := compiled(t, deployment(), s, text)
			obj := objectOf(t, web)
			trimmed := Trim(obj, c)
			var keys []string
			for _, key := range []string{"apiVersion", "kind", "metadata", "spec", "status"} {
				if _, ok := trimmed[key]; ok {
					keys = append(keys, key)
				}
			}
			if diff := cmp.Diff(want, keys); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.Evaluate(t.Context(), obj), c.Evaluate(t.Context(), trimmed)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(objectOf(t, web), obj); diff != "" {
				t.Errorf("the object was changed: %s", diff)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	tests := map[string]struct {
		column     int
		says, hint string
	}{
		"self.status.readyReplica == 3":                            {13, "self.status has no field readyReplica in Deployment", "self.status.readyReplicas"},
		"cel=self.status.readyReplica == 3":                        {17, "has no field readyReplica", "self.status.readyReplicas"},
		"self.readyReplicas == 3":                                  {6, "self has no field readyReplicas", "self.status.readyReplicas"},
		"self.status.conditions.exists(c, c.typ == 'x')":           {36, "c has no field typ", "c.type"},
		"self.status.readyReplicas":                                {0, "it is an int", ""},
		"self.status.readyReplicas ==":                             {29, "", ""},
		"self.status.readyReplicas == 'x'":                         {27, "", ""},
		"object.status.readyReplicas == 3":                         {1, "", ""},
		"self.spec.template.spec.containers[0].imag == 'x'":        {39, "has no field imag", "self.spec.template.spec.containers[0].image"},
		"has(self.status.?readyReplicas) && self.spec.replica > 1": {0, "", ""},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			one, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Compile(deployment(), schemaOf(t, "deployment"), []Spec{one})
			wrong, ok := errors.AsType[*CompileError](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if want.column > 0 && wrong.Column != want.column || !strings.Contains(wrong.Message, want.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if want.hint != "" && wrong.Hint() != "did you mean "+want.hint+"?" {
				t.Errorf("hint %q", wrong.Hint())
			}
		})
	}
	_, err := Compile(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, schemaOf(t, "configmap"),
		[]Spec{{Kind: Status, Text: "condition=Ready", Type: "Ready", Value: "True"}})
	if err == nil || !strings.Contains(err.Error(), "ConfigMap has no status") {
		t.Errorf("error %v", err)
	}
}

// The values of a Secret are never shown.
func TestSecret(t *testing.T) {
	obj := objectOf(t, `
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: x}
data: {password: aHVudGVyMg==}
`)
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	for _, text := range []string{
		"self.data.password == 'x'", "string(self.data['password']) == 'x'", "self == {}", "self.data.password.hunter",
		"int(self.data.password) == 1", "jsonpath={.data.password}=x", "jsonpath={.data}", "self.data.all(k, self.data[k] == '')",
	} {
		got := compiled(t, gvk, nil, text).Evaluate(t.Context(), obj)
		shown := got.Message
		if got.Err != nil {
			shown += got.Err.Error()
		}
		for _, v := range got.Values {
			out, _ := yaml.Marshal(v.Value)
			shown += string(out)
		}
		if strings.Contains(shown, "aHVud") || strings.Contains(shown, "hunter2") {
			t.Errorf("%s: %s", text, shown)
		}
	}
}

// Edge case 55: a condition that cannot be evaluated is unknown, neither met nor not.
func TestUnknown(t *testing.T) {
	for _, text := range []string{
		"self.spec.replicas / 0 == 1",
		"self.spec.template",
		"jsonpath={.spec.template}=x",
	} {
		c, err := Compile(deployment(), nil, []Spec{must(t, text)})
		if err != nil {
			continue // An error at compilation is even better.
		}
		if got := c[0].Evaluate(t.Context(), objectOf(t, web)); got.Err == nil || got.Met {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func must(t testing.TB, text string) Spec {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
