package document

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// A reader of a published schema needs no other page for the meaning of a field: each field has a
// description, and it names no field by a name that only the Go code has.
func TestEachFieldIsDescribed(t *testing.T) {
	goOnly := regexp.MustCompile(`\b(nil|StillGuarded|APIVersion|BlockedBy|FromValue|ToValue)\b`)
	fields := 0
	for kind, schema := range published(t) {
		walkFields(schema, kind, func(at string, field map[string]any) {
			fields++
			switch text, _ := field["description"].(string); {
			case text == "":
				t.Errorf("%s has no description: give the field of the Go type a comment", at)
			case !strings.HasSuffix(text, "."):
				t.Errorf("%s: the description is not a sentence: %s", at, text)
			case goOnly.MatchString(text):
				t.Errorf("%s: the description has a name of the Go code: %s", at, text)
			}
		})
	}
	if fields < 500 {
		t.Errorf("found %d fields, want at least 500", fields)
	}
}

// The description of a field with a fixed set of values names each value.
func TestEachValueIsDescribed(t *testing.T) {
	schemas := published(t)
	for _, tt := range []struct {
		kind, of, field string
		values          []string
	}{
		{"ApplyResult", "appliedObject", "action", actionNames(output.ApplyActions())},
		{"ApplyResult", "rollbackEntry", "action", actionNames([]event.Action{event.Restored, event.Gone, event.Kept, event.Failed})},
		{"DiffResult", "comparedObject", "action", actionNames(output.DiffActions())},
		{"DeleteResult", "stuckObject", "action", actionNames(output.DeleteActions())},
		{"GiveResult", "givenObject", "action", actionNames(output.GiveActions())},
		{"WaitResult", "waitedObject", "result", actionNames(output.WaitActions())},
		{"DiffResult", "OwnerChange", "becomes", constants(t, "../../event/event.go", "Becoming")},
		{"DiffResult", "changedPath", "change", constants(t, "../../managedfields/change.go", "ChangeKind")},
		{"FightsResult", "fight", "class", constants(t, "../../event/fights.go", "FightClass")},
		{"ReleasesResult", "releaseResult", "forecast", constants(t, "../../event/releases.go", "UpgradeForecast")},
		{"PastResult", "revisionEntry", "reason", constants(t, "../../event/rollouts.go", "RollReason")},
		{"StreamLine", "", "type", lineTypes(t)},
	} {
		of := schemas[tt.kind]
		if tt.of != "" {
			definitions, _ := of["definitions"].(map[string]any)
			of, _ = definitions[tt.of].(map[string]any)
		}
		properties, _ := of["properties"].(map[string]any)
		field, _ := properties[tt.field].(map[string]any)
		text, _ := field["description"].(string)
		if len(tt.values) < 3 {
			t.Errorf("%s.%s: found only the values %q", tt.of, tt.field, tt.values)
		}
		for _, value := range tt.values {
			if !regexp.MustCompile(`(^|[ (])` + regexp.QuoteMeta(value) + `([ ,.;:)]|$)`).MatchString(text) {
				t.Errorf("%s: the description of %s.%s does not name %s: %s", tt.kind, tt.of, tt.field, value, text)
			}
		}
	}
}

// The page on output links each schema.
func TestEachSchemaIsLinked(t *testing.T) {
	page, err := os.ReadFile("../../../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind := range published(t) {
		if link := "[" + kind + "](schemas/" + kind + ".json)"; !strings.Contains(string(page), link) {
			t.Errorf("docs/output.md lacks %s", link)
		}
	}
}

func published(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("../../../docs/schemas/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	out := map[string]map[string]any{}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var schema map[string]any
		if err := json.Unmarshal(content, &schema); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out[strings.TrimSuffix(filepath.Base(path), ".json")] = schema
	}
	return out
}

// walkFields calls f for each property in a schema and its definitions.
func walkFields(v any, at string, f func(at string, field map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			for name, one := range properties {
				if field, ok := one.(map[string]any); ok {
					f(at+"."+name, field)
				}
			}
		}
		for key, below := range v {
			walkFields(below, at+"."+key, f)
		}
	case []any:
		for _, below := range v {
			walkFields(below, at, f)
		}
	}
}

func actionNames(actions []event.Action) []string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = string(a.Applied())
	}
	return names
}

// constants returns the values of the constants of a type in a file.
func constants(t *testing.T, path, of string) []string {
	t.Helper()
	var out []string
	inspect(t, path, func(n ast.Node) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == of {
			for _, value := range spec.Values {
				out = append(out, literal(t, value))
			}
		}
	})
	return out
}

// lineTypes returns the types of lines that the stream writes.
func lineTypes(t *testing.T) []string {
	t.Helper()
	var out []string
	inspect(t, "stream.go", func(n ast.Node) {
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Type" {
				out = append(out, literal(t, pair.Value))
			}
		}
	})
	return out
}

func inspect(t *testing.T, path string, f func(ast.Node)) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		f(n)
		return true
	})
}

func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	basic, ok := e.(*ast.BasicLit)
	if !ok {
		t.Fatalf("%T is not a literal", e)
	}
	value, err := strconv.Unquote(basic.Value)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
