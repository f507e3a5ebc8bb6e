package config

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"
)

// published returns the documented schema with its references replaced by the definitions.
func published(t *testing.T) *validate.SchemaValidator {
	t.Helper()
	data, err := os.ReadFile("../../../docs/k8sconnect.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	definitions := root["definitions"].(map[string]any)
	var inline func(v any) any
	inline = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				return inline(definitions[strings.TrimPrefix(ref, "#/definitions/")])
			}
			out := map[string]any{}
			for key, below := range v {
				if key != "definitions" && key != "$schema" {
					out[key] = inline(below)
				}
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i := range v {
				out[i] = inline(v[i])
			}
			return out
		}
		return v
	}
	flat, err := json.Marshal(inline(root))
	if err != nil {
		t.Fatal(err)
	}
	var schema spec.Schema
	if err := json.Unmarshal(flat, &schema); err != nil {
		t.Fatal(err)
	}
	return validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
}

// sound returns a document that the parser accepts.
func sound(r *rand.Rand) map[string]any {
	one := func(from ...any) any { return from[r.IntN(len(from))] }
	texts := func(from ...any) any {
		out := []any{}
		for range r.IntN(3) {
			out = append(out, one(from...))
		}
		return out
	}
	rules := func() any {
		out := []any{}
		for range r.IntN(3) {
			rule := map[string]any{}
			for key, value := range map[string]any{"kind": one("Deployment.apps", "*"), "namespace": "shop", "name": "web-*"} {
				if r.IntN(2) == 0 {
					rule[key] = value
				}
			}
			if r.IntN(2) == 0 {
				rule["manager"] = one("*", "kubectl-[ab]*", "x y")
			}
			if r.IntN(2) == 0 || rule["manager"] == nil {
				rule["path"] = one(".spec", ".a[*].b", []any{".a", `.b["c/d"]`})
			}
			out = append(out, rule)
		}
		return out
	}
	section := func() map[string]any {
		out := map[string]any{}
		for key, value := range map[string]any{
			"yield": rules(), "take": rules(), "adoptFrom": texts("helm", "kubectl"), "recreate": texts("job", "job/a", "job/b/a"),
			"fieldManager": one("team", strings.Repeat("x", 128)), "readiness": "r.yaml", "others": one("warn", "refuse"),
			"timeoutFor": map[string]any{"job": one("1h30m", "1.5s", "+3m", "100us")}, "expect": map[string]any{"context": "a*", "cluster": "b"},
		} {
			if r.IntN(2) == 0 {
				out[key] = value
			}
		}
		return out
	}
	out := section()
	out["contexts"] = map[string]any{"prod-*": section(), "*": section()}
	return out
}

// places returns every way to break the structure of a document: an unknown key at each place, and
// a value of another type.
func places(v any, at string, broken func(breaks func())) {
	m, ok := v.(map[string]any)
	if !ok {
		if list, ok := v.([]any); ok {
			for i := range list {
				places(list[i], at, broken)
				was := list[i]
				broken(func() { list[i] = 7.0 })
				list[i] = was
			}
		}
		return
	}
	for key, was := range m {
		places(was, key, broken)
		broken(func() { m[key] = 7.0 })
		broken(func() { m[key] = nil })
		broken(func() { m[key] = "" })
		m[key] = was
	}
	if at != "timeoutFor" && at != "contexts" { // There, keys are names.
		broken(func() { m["foo"] = "bar" })
		delete(m, "foo")
	}
}

// The schema and the parser accept the same documents. Both refuse a document whose structure is
// broken, wherever the fault is.
func TestSchema(t *testing.T) {
	schema := published(t)
	accepts := func(doc map[string]any) (byParser error, bySchema bool) {
		data, err := yaml.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		var again any
		if err := yaml.Unmarshal(data, &again); err != nil {
			t.Fatal(err)
		}
		_, byParser = Parse("f", data, "prod-1", true)
		return byParser, schema.Validate(again).IsValid()
	}
	r := rand.New(rand.NewPCG(16, 2))
	mutants := 0
	for range 6 {
		doc := sound(r)
		if err, ok := accepts(doc); err != nil || !ok {
			t.Fatalf("%v: parser %v, schema %v", doc, err, ok)
		}
		places(doc, "", func(breaks func()) {
			breaks()
			mutants++
			if err, ok := accepts(doc); err == nil || ok {
				text, _ := yaml.Marshal(doc)
				t.Fatalf("broken, but parser %v, schema accepts %v:\n%s", err, ok, text)
			}
		})
	}
	t.Logf("%d broken documents", mutants)
}
