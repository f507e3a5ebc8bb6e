package yamldoc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const annotation, paths = "k8sconnect.io/yield", ".spec.replicas"

func always(map[string]any) (string, bool) { return paths, true }

// An object that is not the intended one is not edited, and the value may depend on the object.
func TestSetAnnotationOfAnotherObject(t *testing.T) {
	text := []byte("kind: List\nitems:\n- kind: A\n  metadata: {name: a, annotations: {a: b}}\n")
	of := func(name string) func(map[string]any) (string, bool) {
		return func(object map[string]any) (string, bool) {
			meta, _ := object["metadata"].(map[string]any)
			return fmt.Sprint(meta["annotations"]), meta["name"] == name
		}
	}
	if got, _, err := SetAnnotation(text, 3, "a", of("b")); !errors.Is(err, ErrForm) {
		t.Errorf("%v\n%s", err, got)
	}
	if got, _, err := SetAnnotation(text, 3, "a", of("a")); err != nil || !strings.Contains(string(got), `{a: "map[a:b]"}`) {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestSetAnnotation(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		line int
		want string
		// at is the line of the annotation; 0 means that the text cannot be edited.
		at int
	}{
		"no annotations": {
			"# web\nkind: Deployment\nmetadata:\n  # the shop\n  name: web # short\n  labels: {app: web}\nspec:\n  replicas: 1\n", 2,
			"# web\nkind: Deployment\nmetadata:\n  # the shop\n  name: web # short\n  annotations:\n    k8sconnect.io/yield: \".spec.replicas\"\n  labels: {app: web}\nspec:\n  replicas: 1\n", 7,
		},
		"after the namespace, indented by four": {
			"kind: A\nmetadata:\n    name: web\n    namespace: 'it''s'\n", 1,
			"kind: A\nmetadata:\n    name: web\n    namespace: 'it''s'\n    annotations:\n        k8sconnect.io/yield: \".spec.replicas\"\n", 6,
		},
		"after the other annotations": {
			"kind: A\nmetadata:\n  annotations:\n    # why\n    a: b # c\n  name: web\n", 1,
			"kind: A\nmetadata:\n  annotations:\n    # why\n    a: b # c\n    k8sconnect.io/yield: \".spec.replicas\"\n  name: web\n", 6,
		},
		"before a text of many lines": {
			"kind: A\nmetadata:\n  annotations:\n    # why\n    a: |\n      # b\n      c\n  name: web\n", 1,
			"kind: A\nmetadata:\n  annotations:\n    k8sconnect.io/yield: \".spec.replicas\"\n    # why\n    a: |\n      # b\n      c\n  name: web\n", 4,
		},
		"empty annotations": {
			"kind: A\nmetadata:\n  annotations: # none\n  name: web", 1,
			"kind: A\nmetadata:\n  annotations: # none\n    k8sconnect.io/yield: \".spec.replicas\"\n  name: web", 4,
		},
		"null annotations": {
			"kind: A\nmetadata:\n  annotations: ~ # none\n  name: web", 1,
			"kind: A\nmetadata:\n  annotations: {\"k8sconnect.io/yield\": \".spec.replicas\"} # none\n  name: web", 3,
		},
		"another value": {
			"kind: A\nmetadata:\n  name: ü\n  annotations: {ü: 'é', k8sconnect.io/yield: '.a,''b', x: y} # ok\n", 1,
			"kind: A\nmetadata:\n  name: ü\n  annotations: {ü: 'é', k8sconnect.io/yield: \".spec.replicas\", x: y} # ok\n", 4,
		},
		"in flow style": {
			"{kind: A, metadata: {name: \"web\", labels: {a: b}}, spec: {}}\n", 1,
			"{kind: A, metadata: {name: \"web\", \"annotations\": {\"k8sconnect.io/yield\": \".spec.replicas\"}, labels: {a: b}}, spec: {}}\n", 1,
		},
		"JSON": {
			"{\n  \"kind\": \"A\",\n  \"metadata\": {\n    \"name\": \"web\"\n  }\n}", 1,
			"{\n  \"kind\": \"A\",\n  \"metadata\": {\n    \"name\": \"web\",\n    \"annotations\": {\"k8sconnect.io/yield\": \".spec.replicas\"}\n  }\n}", 5,
		},
		"lines of Windows": {
			"kind: A\r\nmetadata:\r\n  name: web\r\n", 1,
			"kind: A\r\nmetadata:\r\n  name: web\r\n  annotations:\r\n    k8sconnect.io/yield: \".spec.replicas\"\r\n", 5,
		},
		"the second of three documents": {
			"kind: A\nmetadata: {name: a}\n--- # b\n# c\nkind: A\nmetadata: {name: b}\n---\nkind: A\nmetadata: {name: c}\n", 5,
			"kind: A\nmetadata: {name: a}\n--- # b\n# c\nkind: A\nmetadata: {name: b, annotations: {k8sconnect.io/yield: \".spec.replicas\"}}\n---\nkind: A\nmetadata: {name: c}\n", 6,
		},
		"an item of a list": {
			"kind: List\nitems:\n- kind: A\n  metadata:\n    name: a\n- kind: A\n  metadata:\n    name: b\n", 6,
			"kind: List\nitems:\n- kind: A\n  metadata:\n    name: a\n- kind: A\n  metadata:\n    name: b\n    annotations:\n      k8sconnect.io/yield: \".spec.replicas\"\n", 10,
		},
		"metadata that another object shares": {
			"kind: List\nitems:\n- kind: A\n  metadata: &m {name: a}\n- kind: B\n  metadata: *m\n", 3, "", 0,
		},
		"no metadata":           {"kind: A\n", 1, "", 0},
		"two objects in a line": {`{"kind": "A", "metadata": {"name": "a"}} {"kind": "A", "metadata": {"name": "b"}}`, 1, "", 0},
		"broken":                {"kind: [", 1, "", 0},
		"empty":                 {"", 1, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, at, err := SetAnnotation([]byte(tt.text), tt.line, annotation, always)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || at != tt.at || (tt.at == 0) != errors.Is(err, ErrForm) {
				t.Errorf("line %d, %v\n%s", at, err, diff)
			}
		})
	}
}

func TestAddItem(t *testing.T) {
	const item = "{kind: A, path: .a}"
	for name, tt := range map[string]struct {
		text, want string
		at         int
	}{
		"a new file":              {"", "yield:\n- {kind: A, path: .a}\n", 2},
		"only comments":           {"# rules\n", "# rules\nyield:\n- {kind: A, path: .a}\n", 3},
		"no rules":                {"expect: {context: a}", "expect: {context: a}\nyield:\n- {kind: A, path: .a}\n", 3},
		"no rules, and an end":    {"expect: {context: a}\n...\n", "yield:\n- {kind: A, path: .a}\nexpect: {context: a}\n...\n", 2},
		"rules":                   {"yield:\n  # all\n  - {manager: b} # b\n  # end\nexpect: {context: a}\n", "yield:\n  # all\n  - {manager: b} # b\n  - {kind: A, path: .a}\n  # end\nexpect: {context: a}\n", 4},
		"a rule of several lines": {"yield:\n- manager: b\n  path:\n  - .b\n\nexpect: {context: a}\n", "yield:\n- manager: b\n  path:\n  - .b\n- {kind: A, path: .a}\n\nexpect: {context: a}\n", 5},
		"a folded path":           {"yield:\n- manager: >-\n    b\n", "yield:\n- {kind: A, path: .a}\n- manager: >-\n    b\n", 2},
		"in flow style":           {"yield: [{manager: b}] # b\n", "yield: [{kind: A, path: .a}, {manager: b}] # b\n", 1},
		"an empty list":           {"yield: []\n", "yield: [{kind: A, path: .a}]\n", 1},
		"a file in flow style":    {"{expect: {context: a}}", "{\"yield\": [{kind: A, path: .a}], expect: {context: a}}", 1},
		"an alias":                {"x: &a [{manager: b}]\nyield: *a\n", "", 0},
		"no list":                 {"yield: a\n", "", 0},
		"not a mapping":           {"- a\n", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, at, err := AddItem([]byte(tt.text), "yield", item)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || at != tt.at || (tt.at == 0) != errors.Is(err, ErrForm) {
				t.Errorf("line %d, %v\n%s", at, err, diff)
			}
		})
	}
}

// In random texts, an annotation is the only change: every line stays, in order, and the value of
// each document is as before except for the annotation.
func TestSetAnnotationOfRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	edited := 0
	for range 3000 {
		var docs []string
		n := 1 + r.IntN(3)
		for i := range n {
			name := fmt.Sprintf("name: %s", pick("a", `"b c"`, "'it''s'", "ü", ">-\n    long\n    name", "a # why"))
			annotations := pick("", "annotations: {}", "annotations:", "annotations: {a: b}", "annotations:\n    # why\n    a: b",
				"annotations:\n    a: |\n      x\n      # y", "annotations:\n    "+annotation+": .old", "annotations:\n    "+annotation+": >-\n      .old\n    z: y", "annotations:\n      'x y': {}")
			fields := []string{name}
			if annotations != "" {
				fields = append(fields, annotations)
			}
			if r.IntN(2) == 0 {
				fields = append(fields, pick("labels: {a: b}", "labels:\n    a: b\n\n    # c\n    d: e"))
			}
			r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
			docs = append(docs, fmt.Sprintf("%skind: A%d\nmetadata:\n%s  %s\n%s", pick("", "# head\n"), i, pick("", "  # first\n"), strings.Join(fields, "\n  "), pick("", "spec: {a: [b, {c: d}]}\n", "data:\n  x: |\n    kind: A\n    metadata: {}\n")))
		}
		text := strings.Join(docs, pick("---\n", "--- # b\n", "---\n\n"))
		at := 1 + strings.Count(text[:strings.Index(text, fmt.Sprintf("kind: A%d", n-1))], "\n")
		got, line, err := SetAnnotation([]byte(text), at, annotation, always)
		if err != nil {
			continue
		}
		edited++
		if lines := strings.Split(string(got), "\n"); !strings.Contains(lines[line-1], paths) {
			t.Fatalf("line %d of\n%s", line, got)
		}
		rest := strings.Split(string(got), "\n")
		for old := range strings.SplitSeq(text, "\n") {
			i := slices.Index(rest, old)
			if i < 0 && (strings.Contains(old, "annotations:") || strings.Contains(old, annotation)) {
				continue // This line may have changed.
			}
			if i < 0 {
				t.Fatalf("the line %q is lost:\n%s\nfrom\n%s", old, got, text)
			}
			rest = rest[i+1:]
		}
		before, after := lastDocument(t, text), lastDocument(t, string(got))
		meta, _ := after["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		if annotations[annotation] != paths {
			t.Fatalf("no annotation:\n%s", got)
		}
		for _, document := range []map[string]any{before, after} {
			meta, _ := document["metadata"].(map[string]any)
			annotations, _ := meta["annotations"].(map[string]any)
			if delete(annotations, annotation); len(annotations) == 0 {
				delete(meta, "annotations")
			}
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatal(diff)
		}
	}
	if edited < 2500 {
		t.Errorf("only %d of 3000 texts could be edited", edited)
	}
}

func lastDocument(t *testing.T, text string) (value map[string]any) {
	t.Helper()
	docs := strings.Split(text, "---")
	_, doc, _ := strings.Cut(docs[len(docs)-1], "kind: ")
	if err := yaml.Unmarshal([]byte("kind: "+doc), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
