package yamldoc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigs "sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
)

const deployment = `# The shop.
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # the name
  labels: {app: web, "a.b/c": 'x'}
spec:
  replicas: 2
  paused:
  template:
    spec:
      containers:
      # The first one.
      - name: app
        image: "a:1"
        args: ["-x", "a, b"] # flow
        command:
        - sh
        - |
          echo a
          # not a comment
      - {name: side, image: b, env: []}
      # The end.

      volumes:
        - name: data
          emptyDir: {}
# A last comment.
---
{"apiVersion": "v1", "kind": "Secret", "metadata": {
  "name": "json"
}}
`

func TestSet(t *testing.T) {
	for name, tt := range map[string]struct {
		line int
		edit yamldoc.Edit
		want string // the lines that differ
	}{
		"field of a block":         {6, yamldoc.Edit{Steps: []any{"spec", "template", "spec"}, Key: new("hostNetwork"), Value: true}, "+      hostNetwork: true"},
		"map":                      {6, yamldoc.Edit{Steps: []any{"metadata"}, Key: new("annotations"), Value: map[string]any{"a": "yes", "b": "1"}}, "+  annotations:\n+    a: \"yes\"\n+    b: \"1\""},
		"flow map":                 {6, yamldoc.Edit{Steps: []any{"metadata", "labels"}, Key: new("team"), Value: "a"}, "-  labels: {app: web, \"a.b/c\": 'x'}\n+  labels: {app: web, \"a.b/c\": 'x', \"team\": \"a\"}"},
		"flow list":                {6, yamldoc.Edit{Steps: []any{"spec", "template", "spec", "containers", 0, "args"}, Value: "-y"}, "-        args: [\"-x\", \"a, b\"] # flow\n+        args: [\"-x\", \"a, b\", \"-y\"] # flow"},
		"empty list":               {6, yamldoc.Edit{Steps: []any{"spec", "template", "spec", "containers", 1, "env"}, Value: map[string]any{"name": "A"}}, "-      - {name: side, image: b, env: []}\n+      - {name: side, image: b, env: [{\"name\":\"A\"}]}"},
		"item":                     {6, yamldoc.Edit{Steps: []any{"spec", "template", "spec", "containers"}, Value: map[string]any{"name": "miner", "image": "m"}}, "+      - image: m\n+        name: miner"},
		"field after a block text": {6, yamldoc.Edit{Steps: []any{"spec", "template", "spec", "containers", 0}, Key: new("stdin"), Value: true}, "+        stdin: true"},
		"item after a block text":  {6, yamldoc.Edit{Steps: []any{"spec", "template", "spec", "containers", 0, "command"}, Value: "x"}, "+        - x"},
		"item of an indented list": {6, yamldoc.Edit{Steps: []any{"spec", "template", "spec", "volumes"}, Value: map[string]any{"name": "x"}}, "+        - name: x"},
		"field of the last map":    {6, yamldoc.Edit{Steps: []any{"spec", "template", "spec", "volumes", 0, "emptyDir"}, Key: new("medium"), Value: "Memory"}, "-          emptyDir: {}\n+          emptyDir: {\"medium\": \"Memory\"}"},
		"scalar":                   {6, yamldoc.Edit{Steps: []any{"spec", "replicas"}, Value: 5}, "-  replicas: 2\n+  replicas: 5"},
		"quoted scalar":            {6, yamldoc.Edit{Steps: []any{"spec", "template", "spec", "containers", 0, "image"}, Value: "a:2"}, "-        image: \"a:1\"\n+        image: a:2"},
		"null":                     {6, yamldoc.Edit{Steps: []any{"spec"}, Key: new("paused"), Value: map[string]any{"a": 1}}, "+    a: 1"},
		"JSON":                     {34, yamldoc.Edit{Steps: []any{"metadata"}, Key: new("labels"), Value: map[string]any{"a": "b"}}, "-  \"name\": \"json\"\n+  \"name\": \"json\",\n+  \"labels\": {\"a\":\"b\"}"},
		"top of JSON":              {34, yamldoc.Edit{Key: new("data"), Value: map[string]any{"a": "b"}}, "-}}\n+}, \"data\": {\"a\":\"b\"}}"},
		"first document":           {2, yamldoc.Edit{Key: new("data"), Value: map[string]any{"a": "b"}}, "+data:\n+  a: b"},
	} {
		for eol, text := range map[string]string{"lf": deployment, "crlf": strings.ReplaceAll(deployment, "\n", "\r\n"), "none": strings.TrimSuffix(deployment, "\n")} {
			t.Run(name+"/"+eol, func(t *testing.T) {
				got, err := tt.edit.Apply([]byte(text), tt.line)
				if err != nil {
					t.Fatal(err)
				}
				if has := strings.HasSuffix(string(got), "\n"); has != strings.HasSuffix(text, "\n") {
					t.Errorf("ends with a newline: %t", has)
				}
				if eol == "crlf" && strings.Count(string(got), "\n") != strings.Count(string(got), "\r\n") {
					t.Errorf("mixed ends of lines: %q", got)
				}
				if diff := cmp.Diff(tt.want, changed(strings.ReplaceAll(text, "\r", ""), strings.ReplaceAll(string(got), "\r", ""))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// yaml/v3 counts more line ends than a newline, and a JSON document can begin within a line. Apply edits
// the right place, or refuses.
func TestSetWherePositionsAreOdd(t *testing.T) {
	for name, tt := range map[string]struct {
		text, want string
		line       int
	}{
		"line ends of Unicode":  {"# a\u2028\u2028\u0085\nkind: A\nspec:\n  a: b\n", "# a\u2028\u2028\u0085\nkind: A\nspec:\n  a: c\n", 2},
		"such line ends inside": {"kind: A # a\u2028# b\u2028\nspec:\n  a: b\n", "", 1},
		"JSON after spaces":     {"kind: B\n---\n   {\"spec\": {\"a\": \"b\"}}\n", "kind: B\n---\n   {\"spec\": {\"a\": \"c\"}}\n", 3},
		"two objects in a line": {`{"spec": {"a": "b"}} {"spec": {"a": "b"}}`, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := yamldoc.Edit{Steps: []any{"spec", "a"}, Value: "c"}.Apply([]byte(tt.text), tt.line)
			if string(got) != tt.want || (tt.want == "") != errors.Is(err, yamldoc.ErrForm) {
				t.Errorf("%v\n%q", err, got)
			}
		})
	}
}

// changed returns the lines between the common beginning and the common end.
func changed(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var out []string
	for _, line := range a {
		out = append(out, "-"+line)
	}
	for _, line := range b {
		out = append(out, "+"+line)
	}
	return strings.Join(out, "\n")
}

// After random edits, the text decodes to the object with the values, and all lines of before are still
// there, in their order, except those that were edited in place.
func TestSetRandom(t *testing.T) {
	words := []string{"a", "yes", "1", "", "null", "x: y", "- z", "#c", "multi\nline\n", "é, ü", "{q}", "'", "\"", "012", "1e3", " pad ", "2026-11-28"}
	edited := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		value := func() any {
			switch r.IntN(4) {
			case 0:
				return float64(r.IntN(9))
			case 1:
				return map[string]any{"k" + fmt.Sprint(r.IntN(3)): words[r.IntN(len(words))], "l": []any{words[r.IntN(len(words))]}}
			case 2:
				return []any{map[string]any{"name": words[r.IntN(len(words))]}, true}
			}
			return words[r.IntN(len(words))]
		}
		text := deployment
		if r.IntN(2) == 0 {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		for range 4 {
			var docs []map[string]any
			for d := range strings.SplitSeq(text, "---") {
				var o map[string]any
				if err := sigs.Unmarshal([]byte(d), &o); err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, text)
				}
				docs = append(docs, o)
			}
			edit, want := random(r, docs[1], value())
			got, err := edit.Apply([]byte(text), 6)
			if err != nil {
				continue
			}
			var now map[string]any
			if err := sigs.Unmarshal([]byte(strings.Split(string(got), "---")[1]), &now); err != nil {
				t.Fatalf("seed %d: %+v: %v\n%s", seed, edit, err, got)
			}
			if diff := cmp.Diff(want, now); diff != "" {
				t.Fatalf("seed %d: %+v (-want +got):\n%s\n%s", seed, edit, diff, got)
			}
			for _, comment := range []string{"# The shop.", " # the name", "# The first one.", "# flow", "# The end.", "# A last comment."} {
				if !strings.Contains(string(got), comment) {
					t.Fatalf("seed %d: %s is lost:\n%s", seed, comment, got)
				}
			}
			text = string(got)
			edited++
		}
	}
	if edited < 6000 {
		t.Errorf("%d edits", edited)
	}
}

// random returns an edit of the object, and the object after it.
func random(r *rand.Rand, object map[string]any, v any) (yamldoc.Edit, map[string]any) {
	text, _ := json.Marshal(object)
	var out map[string]any
	_ = json.Unmarshal(text, &out)
	var e yamldoc.Edit
	e.Value = v
	var at any = out
	set := func(any) {}
	for {
		switch c := at.(type) {
		case map[string]any:
			var names []string
			for name, v := range c {
				if v != nil {
					names = append(names, name)
				}
			}
			if len(names) == 0 || r.IntN(3) == 0 {
				name := "new" + fmt.Sprint(len(c))
				e.Key, c[name] = &name, v
				return e, out
			}
			name := names[r.IntN(len(names))]
			e.Steps, at, set = append(e.Steps, name), c[name], func(v any) { c[name] = v }
		case []any:
			if len(c) == 0 || r.IntN(3) == 0 {
				set(append(c, v))
				return e, out
			}
			i := r.IntN(len(c))
			e.Steps, at, set = append(e.Steps, i), c[i], func(v any) { c[i] = v }
		default:
			set(v)
			return e, out
		}
	}
}

// An item is added before another one, and before the comments above that, in each style.
func TestSetBefore(t *testing.T) {
	const item = "{name: new}"
	for name, tt := range map[string]struct{ text, want string }{
		"block": {
			"l:\n- name: a\n# of b\n- name: b\n",
			"l:\n- name: a\n- name: new\n# of b\n- name: b\n",
		},
		"indented, dash on a line of its own": {
			"l:\n  - name: a\n  -\n    name: b # keep\nm: 1\n",
			"l:\n  - name: a\n  - name: new\n  -\n    name: b # keep\nm: 1\n",
		},
		"flow": {"l: [{name: a}, {name: b}]\n", "l: [{name: a}, {\"name\":\"new\"}, {name: b}]\n"},
		"JSON": {
			"{\"l\": [\n  {\"name\": \"a\"},\n  {\"name\": \"b\"}\n]}\n",
			"{\"l\": [\n  {\"name\": \"a\"},\n  {\"name\":\"new\"},\n  {\"name\": \"b\"}\n]}\n",
		},
	} {
		edit := yamldoc.Edit{Steps: []any{"l"}, Value: map[string]any{"name": "new"}, Before: 2}
		got, err := edit.Apply([]byte(tt.text), 1)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if _, err := (yamldoc.Edit{Steps: []any{"l"}, Value: item, Before: 3}).Apply([]byte("l: [a]\n"), 1); err == nil {
		t.Error("an item is added before one that does not exist")
	}
}
