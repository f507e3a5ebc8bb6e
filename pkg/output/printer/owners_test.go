package printer_test

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

const ownedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: prod
  uid: 8b0c
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"spec":{}}
  labels: {app: web}
  managedFields:
  - manager: kubectl-client-side-apply
    operation: Update
    apiVersion: apps/v1
    time: "2026-02-26T12:00:00Z"
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:annotations: {.: {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}
        f:labels: {.: {}, f:app: {}}
      f:spec:
        f:selector: {}
        f:template: {f:spec: {f:containers: {'k:{"name":"app"}': {.: {}, f:name: {}, f:image: {}, f:args: {}}}}}
  - manager: kube-controller-manager
    operation: Update
    apiVersion: apps/v1
    subresource: scale
    fieldsType: FieldsV1
    fieldsV1: {f:spec: {f:replicas: {}}}
  - manager: a-platform-team-with-a-long-name
    operation: Apply
    apiVersion: apps/v1beta1
    time: "2026-03-01T11:00:00Z"
    fieldsType: FieldsV1
    fieldsV1: {f:metadata: {f:labels: {f:app: {}}}, f:spec: {f:rollbackTo: {}, f:template: {f:spec: {f:containers: {'k:{"name":"app"}': {.: {}}}}}}}
  - manager: "red\e[31m"
    operation: Update
    apiVersion: apps/v1
    time: "2026-03-01T12:00:30Z"
    fieldsType: FieldsV1
    fieldsV1: {f:metadata: {f:annotations: {f:script: {}}}}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  strategy: {type: Recreate}
  template:
    spec:
      containers:
      - image: registry.example.com/a-team/with-a-long-name/web:1.2.3
        name: app
        args: [--verbose, "--level=1"]
status: {}
`

// Each recorded change of many objects has a line, the newest first. Below the lines, the output
// says which changes may be missing.
func TestPastChangesGolden(t *testing.T) {
	o := ownedStory(t)[0].(event.Owned)
	web := o.Ref
	web.Namespace = "shop"
	of := event.PastChanges{
		Where: " in the cluster", From: ago(24 * time.Hour), Coverage: o.History.Coverage, Dropped: 1,
		Limits: []string{"excluded by the chart's values: Secret", "the webhook is not allowed to list and watch Bird.example.com"},
	}
	for _, tr := range o.History.Transitions {
		of.Changes = append(of.Changes, event.ObjectTransition{Ref: web, Transition: tr})
	}
	of.Changes[0].FromValue, of.Changes[0].ToValue = "3", "5\x1b[31m"
	for name, options := range map[string]output.Options{"table": {}, "table-80": {Width: columns(80)}, "json": {Format: output.JSON, Run: "01J"}} {
		t.Run(name, func(t *testing.T) {
			golden(t, "history-"+name, run(t, printer.OfHistory, options, []event.Event{of}))
		})
	}
}

// ownedStory is an object with all kinds of owners, and its history.
func ownedStory(t *testing.T) []event.Event {
	t.Helper()
	fields := fieldsOf(t, ownedDeployment)
	annotations := fields["metadata"].(map[string]any)["annotations"].(map[string]any)
	annotations["script"] = "#!/bin/sh\n\techo 1\nls\nls\nls\nls\nls\n"
	annotations["danger"] = "a\x1b[31mb\u202ec"
	e := owned(t, fields)
	e.History = &event.History{
		Transitions: []event.Transition{
			{
				Path: ".spec.replicas", Kind: "taken", Forced: true, User: "jane\n@example.com", Count: 12,
				From:  []managedfields.Owner{{Manager: "flux", Operation: managedfields.Apply}},
				To:    []managedfields.Owner{autoscaler()},
				First: ago(72 * time.Hour), Last: ago(2 * time.Hour),
			},
			{
				Path: ".spec.paused", Kind: "released", Gap: true, Cut: true, Count: 1,
				From: []managedfields.Owner{{Manager: "flux", Operation: managedfields.Apply}}, To: []managedfields.Owner{},
				First: ago(time.Hour), Last: ago(time.Hour),
			},
		},
		Dropped:  3,
		Lost:     1,
		Coverage: event.Coverage{Since: ago(96 * time.Hour), Gaps: []event.Gap{{From: ago(5 * time.Hour), To: ago(4 * time.Hour)}}, Behind: &event.Behind{Changes: 812, Since: ago(9 * time.Minute)}},
	}
	e.StatusHidden = true
	e.Holdings = []event.Holding{
		{Owner: managedfields.Owner{Manager: "kubectl-client-side-apply", Operation: managedfields.Update, Time: ago(72 * time.Hour)}, Fields: 12},
		{Owner: autoscaler(), Fields: 1},
		{Owner: managedfields.Owner{Manager: "kube-controller-manager", Operation: managedfields.Update, Subresource: "status"}, Fields: 1},
		{Fields: 3},
	}
	return []event.Event{e}
}

func fieldsOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func owned(t *testing.T, fields map[string]any) event.Owned {
	t.Helper()
	u := &unstructured.Unstructured{Object: fields}
	entries, err := managedfields.Entries(u)
	if err != nil {
		t.Fatal(err)
	}
	e := event.Owned{Ref: object.RefOf(u), Unmanaged: len(entries) == 0}
	e.Fields, e.Absent = managedfields.Tree(fields, entries)
	return e
}

func TestOwnersGolden(t *testing.T) {
	for name, o := range map[string]output.Options{
		"table":         {},
		"table-verbose": {Verbose: true},
		"table-80":      {Width: columns(80)},
		"table-40":      {Width: columns(40)},
		"table-colour":  {Color: true, Width: columns(120)},
		"json":          {Format: output.JSON, Run: "01J"},
		"yaml":          {Format: output.YAML},
		"kyaml":         {Format: output.KYAML, Run: "01J"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "owners-"+name, run(t, printer.OfOwners, o, ownedStory(t)))
		})
	}
}

func TestLongNamesAreShortenedAtTheStart(t *testing.T) {
	story := []event.Event{event.Planned{}, owned(t, fieldsOf(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: prod}
data: {a-long-name-with-much-in-it.example.com_Application: x, a-long-name-with-much-in-it.example.com_Rollout: z}`))}
	got := run(t, printer.OfOwners, output.Options{Width: columns(40)}, story)
	for _, end := range []string{"Application: x\n", "Rollout: z\n"} {
		if !strings.Contains(got.out, end) {
			t.Errorf("no line ends with %q:\n%s", end, got.out)
		}
	}
}

// The size of a masked value is not shown, because it would be the size of the mask.
func TestMaskedLastApplied(t *testing.T) {
	story := []event.Event{event.Planned{}, owned(t, fieldsOf(t, `
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: prod, annotations: {kubectl.kubernetes.io/last-applied-configuration: "***"}}`))}
	got := run(t, printer.OfOwners, output.Options{}, story)
	if !strings.Contains(got.out, "last-applied-configuration: '***'") {
		t.Errorf("no mask in:\n%s", got.out)
	}
}

func TestOwnersColourDoesNotChangeText(t *testing.T) {
	plain := run(t, printer.OfOwners, output.Options{}, ownedStory(t)).out
	coloured := run(t, printer.OfOwners, output.Options{Color: true}, ownedStory(t)).out
	if coloured == plain {
		t.Error("the output has no colour")
	}
	if diff := cmp.Diff(plain, regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(coloured, "")); diff != "" {
		t.Errorf("without its colours the output differs:\n%s", diff)
	}
}

// No line is wider than the terminal, and control characters are escaped.
func TestOwnersFitTheTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		out := run(t, printer.OfOwners, output.Options{Width: columns(width)}, ownedStory(t)).out
		for line := range strings.Lines(out) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
			if strings.ContainsAny(line, "\x1b\u202e\r\t") {
				t.Errorf("raw control characters: %q", line)
			}
		}
	}
}

func TestOwnersRemarks(t *testing.T) {
	whole := owned(t, fieldsOf(t, ownedDeployment))
	inside := path(t, ".spec.selector.matchLabels")
	at, ok := managedfields.At(whole.Fields, inside)
	if !ok {
		t.Fatal("no such path")
	}
	unmanaged := owned(t, map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "x"}, "data": map[string]any{"a": "b"}})
	forbidden := hinted{errors.New("no permission"), "ask"}
	tests := map[string]struct {
		event event.Owned
		want  []string
	}{
		"part of an atomic value": {
			event.Owned{Ref: web(), Path: inside, Fields: []managedfields.Node{at}},
			[]string{".spec.selector.matchLabels is a part of .spec.selector, which is owned as a whole\n"},
		},
		"no managed fields (edge case 17)": {unmanaged, []string{"it has no managed fields", "\nno owner  data:\n            a: b\n"}},
		"no record":                        {event.Owned{Ref: web(), History: &event.History{}}, []string{"no takeovers recorded"}},
		"unknown coverage": {
			event.Owned{Ref: web(), History: &event.History{Coverage: event.Coverage{Unknown: "no permission"}}},
			[]string{"start of the watch unknown: no permission"},
		},
		"unknown history": {
			event.Owned{Ref: web(), History: &event.History{Err: forbidden}},
			[]string{"history  not known\n    no permission\n    hint: ask\n"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := run(t, printer.OfOwners, output.Options{}, []event.Event{test.event}).out
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in:\n%s", want, got)
				}
			}
		})
	}
}

func TestOwnersFormats(t *testing.T) {
	for _, format := range []string{output.Name, output.Stream, output.JUnit, output.Markdown, "jsn"} {
		_, err := printer.For(printer.OfOwners, output.Options{Format: format})
		if err == nil || !strings.Contains(err.Error(), "use table, yaml, json, kyaml or html") {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

// FuzzOwnersYAML checks that the output of -o yaml is the object, whatever strings it contains.
func FuzzOwnersYAML(f *testing.F) {
	f.Add("key", "value")
	f.Add("true", " \n indented\n\n")
	f.Add("a: b", "# no comment")
	f.Add("- x", "tab\there\nand\tthere")
	f.Add("it's \"q\"", "\x1b[31m\u202e\u0085")
	f.Add("~", "|\n>")
	f.Add("long", strings.Repeat("words of a text ", 20))
	f.Fuzz(func(t *testing.T, key, text string) {
		value := map[string]any{key: text, "list": []any{text, map[string]any{"x": text, key: []any{text}}, []any{text, int64(1)}, nil}, "n": 1.5, "": map[string]any{}}
		object := map[string]any{
			"kind": "T", "metadata": map[string]any{"name": "x"},
			"whole": value, "spec": map[string]any{key: text, "items": []any{map[string]any{"name": text, "v": value}, map[string]any{"name": "x"}}},
		}
		item, err := json.Marshal(map[string]any{"name": text})
		if err != nil {
			t.Fatal(err)
		}
		if normal, err := json.Marshal(object); err != nil || json.Unmarshal(normal, &object) != nil {
			t.Fatal(err)
		}
		withOwners := map[string]any{}
		maps.Copy(withOwners, object)
		withOwners["metadata"] = map[string]any{"name": "x", "managedFields": []any{map[string]any{
			"manager": "m\n" + text, "operation": "Apply", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:" + key: map[string]any{}, "f:items": map[string]any{
				"k:" + string(item): map[string]any{"f:v": map[string]any{}},
			}}},
		}}}
		out := run(t, printer.OfOwners, output.Options{Format: output.YAML}, []event.Event{owned(t, withOwners)}).out
		var got map[string]any
		if err := yaml.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v in:\n%s", err, out)
		}
		if diff := cmp.Diff(object, got); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s", diff, out)
		}
	})
}
