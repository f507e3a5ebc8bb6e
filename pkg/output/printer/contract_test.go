package printer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// The conflict report is part of the contract, byte for byte. The flags for the first path come
// before those for the second.
func TestConflictReport(t *testing.T) {
	const want = `conflict  deployment.apps/web -n prod
  .spec.replicas                                       yours 3        live 5        kube-controller-manager (scale)
  .spec.template.spec.containers[name="app"].image     yours app:1.2  live app:1.1  kubectl-edit (Update, 1h ago)

Nothing in this phase was written. For each path, choose:
  take it    --take=deployment.apps/web:.spec.replicas
             --take='deployment.apps/web:.spec.template.spec.containers[name="app"].image'
  leave it   --yield=deployment.apps/web:.spec.replicas
             --yield='deployment.apps/web:.spec.template.spec.containers[name="app"].image'
  agree      put the live value into the manifest
  take all   --take=all

1 conflict
`
	got := run(t, printer.OfApply, output.Options{Width: columns(120)}, []event.Event{contractConflict(t)})
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Edge case 35: the failure of one object does not hide the results of others.
func TestApplyResult(t *testing.T) {
	events := []event.Event{
		contractConflict(t),
		event.Warned{Ref: web(), Text: "deprecated"},
		event.Applied{Ref: config("a"), Action: event.Created},
		event.Applied{Ref: config("b"), Action: event.Failed, Err: hinted{forbidden("b"), "ask"}},
	}
	got := run(t, printer.OfApply, output.Options{Format: output.JSON, Run: "01J"}, events)
	equalJSON(t, got.out, `{
	  "apiVersion":"cli.k8sconnect.io/v1alpha1","kind":"ApplyResult","run":"01J",
	  "objects":[
	    {"apiVersion":"v1","kind":"ConfigMap","namespace":"prod","name":"a","action":"created"},
	    {"apiVersion":"v1","kind":"ConfigMap","namespace":"prod","name":"b","action":"failed",
	     "error":{"reason":"Forbidden","hint":"ask",
	       "message":"apply service/b -n prod: services \"b\" is forbidden: admission webhook denied it:\n\tno owner label\n\u001b[31mred\u001b[0m"}},
	    {"apiVersion":"apps/v1","kind":"Deployment","namespace":"prod","name":"web","action":"conflict",
	     "warnings":["deployment.apps/web -n prod: deprecated"],
	     "conflicts":[
	       {"path":".spec.replicas","yours":3,"live":5,
	        "owners":[{"manager":"kube-controller-manager","operation":"Update","subresource":"scale"}]},
	       {"path":".spec.template.spec.containers[name=\"app\"].image","yours":"app:1.2","live":"app:1.1",
	        "owners":[{"manager":"kubectl-edit","operation":"Update","time":"2026-03-01T11:00:00Z"}]}]}],
	  "summary":{"created":1,"configured":0,"recreated":0,"shared":0,"unchanged":0,"conflict":1,"failed":1,"skipped":0,"pruned":0,"terminating":0,"unknown":0,"kept":0}}`)
}

func TestDiffResult(t *testing.T) {
	events := []event.Event{
		event.Compared{Ref: web(), Action: event.Update, Changes: []managedfields.Change{
			{Path: path(t, ".spec.replicas"), From: int64(5), To: int64(3), Kind: managedfields.Contested, Owners: []managedfields.Owner{autoscaler()}},
			{Path: path(t, ".spec.paused"), To: nil, Kind: managedfields.Added},
			{Path: path(t, ".spec.minReadySeconds"), From: int64(1), Kind: managedfields.Removed},
		}},
		event.Compared{Ref: config("a"), Action: event.Unknown, Reason: "no right to read it", Err: errors.New("no")},
		event.Compared{Ref: config("b"), Action: event.None},
		event.Compared{Ref: config("c"), Action: event.Kept, Departed: true, Reason: "its annotation keeps it"},
	}
	got := run(t, printer.OfDiff, output.Options{Format: output.JSON}, events)
	equalJSON(t, got.out, `{
	  "apiVersion":"cli.k8sconnect.io/v1alpha1","kind":"DiffResult",
	  "objects":[
	    {"apiVersion":"v1","kind":"ConfigMap","namespace":"prod","name":"a","action":"unknown",
	     "reason":"no right to read it","error":{"message":"no"}},
	    {"apiVersion":"v1","kind":"ConfigMap","namespace":"prod","name":"b","action":"unchanged"},
	    {"apiVersion":"v1","kind":"ConfigMap","namespace":"prod","name":"c","action":"kept","reason":"its annotation keeps it"},
	    {"apiVersion":"apps/v1","kind":"Deployment","namespace":"prod","name":"web","action":"configured",
	     "changes":[
	       {"path":".spec.replicas","from":5,"to":3,"change":"contested",
	        "owners":[{"manager":"kube-controller-manager","operation":"Update","subresource":"scale"}]},
	       {"path":".spec.paused","to":null,"change":"added"},
	       {"path":".spec.minReadySeconds","from":1,"change":"removed"}]}],
	  "summary":{"created":0,"configured":1,"recreated":0,"shared":0,"pruned":0,"unchanged":1,"unknown":1,"kept":1}}`)
}

// For each path, the rule behind a decision is reported, with the object and in the stream. If no
// rule of the user decided, the built-in table is named.
func TestDecisionsAreReported(t *testing.T) {
	decided := event.Decided{Ref: config("a"), Decisions: []event.Decision{
		{Path: path(t, ".data.a"), Outcome: "yielded", By: "k8sconnect.yaml:3:3", Choice: "manager=kubectl:.data.a"},
		{Path: path(t, ".data.b"), Outcome: "left"},
	}}
	const entries = `"decided":[{"path":".data.a","outcome":"yielded","by":"k8sconnect.yaml:3:3","choice":"manager=kubectl:.data.a"},{"path":".data.b","outcome":"left","by":"built-in"}]`
	for _, tt := range []struct {
		report printer.Report
		kind   string
		result event.Event
	}{
		{printer.OfApply, "ApplyResult", event.Applied{Ref: config("a"), Action: event.Unchanged}},
		{printer.OfDiff, "DiffResult", event.Compared{Ref: config("a"), Action: event.None}},
	} {
		var document struct {
			Kind    string
			Objects []map[string]any
		}
		got := run(t, tt.report, output.Options{Format: output.JSON}, []event.Event{tt.result, decided})
		if err := json.Unmarshal([]byte(got.out), &document); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(map[string]any{"decided": document.Objects[0]["decided"]})
		if err != nil || document.Kind != tt.kind {
			t.Fatal(err, document.Kind)
		}
		equalJSON(t, string(text), "{"+entries+"}")
		if got := run(t, tt.report, output.Options{Format: output.Stream}, []event.Event{tt.result, decided}); !strings.Contains(got.out, `"type":"decided"`) || !strings.Contains(got.out, entries) {
			t.Errorf("%s:\n%s", tt.kind, got.out)
		}
		if got := run(t, tt.report, output.Options{}, []event.Event{tt.result, decided}); strings.Contains(got.out+got.err, "k8sconnect.yaml") {
			t.Errorf("%s:\n%s%s", tt.kind, got.out, got.err)
		}
	}
}

// A document without objects is still complete.
func TestEmptyDocuments(t *testing.T) {
	for name, report := range map[string]printer.Report{"apply": printer.OfApply, "diff": printer.OfDiff} {
		t.Run(name, func(t *testing.T) {
			got := run(t, report, output.Options{Format: output.JSON}, []event.Event{event.Planned{}})
			var document struct{ Objects []any }
			if err := json.Unmarshal([]byte(got.out), &document); err != nil {
				t.Fatal(err)
			}
			if document.Objects == nil {
				t.Errorf("objects is null:\n%s", got.out)
			}
		})
	}
}

// A run that ends before it has a plan prints nothing: the error is on stderr, and an empty
// document would look like a result.
func TestNothingWithoutPlan(t *testing.T) {
	for name, report := range map[string]printer.Report{"apply": printer.OfApply, "diff": printer.OfDiff} {
		for _, format := range []string{output.Table, output.JSON, output.JUnit} {
			if got := run(t, report, output.Options{Format: format}, nil); got.out != "" {
				t.Errorf("%s -o %s: got %q, want no output", name, format, got.out)
			}
		}
	}
}

// Edge case 34: a warning names its object. The same text for two objects counts as two warnings.
// The same text twice for one object (dry run, then write) counts as one.
func TestWarnings(t *testing.T) {
	events := []event.Event{
		event.Warned{Ref: config("b"), Text: "old"},
		event.Warned{Ref: config("a"), Text: "old"},
		event.Warned{Ref: config("b"), Text: "old"},
		event.Warned{Ref: config("nowhere"), Text: "old"},
		event.Applied{Ref: config("a"), Action: event.Created},
		event.Applied{Ref: config("b"), Action: event.Created},
	}
	const want = "warning: 3 objects: old: configmap/a -n prod, configmap/b -n prod, configmap/nowhere -n prod\n"
	for _, format := range []string{output.Table, output.JSON, output.Stream} {
		got := run(t, printer.OfApply, output.Options{Format: format}, events)
		if diff := cmp.Diff(want, got.err); diff != "" {
			t.Errorf("%s: stderr (-want +got):\n%s", format, diff)
		}
	}
	var document struct {
		Warnings []string
		Objects  []struct{ Warnings []string }
	}
	got := run(t, printer.OfApply, output.Options{Format: output.JSON}, events)
	if err := json.Unmarshal([]byte(got.out), &document); err != nil {
		t.Fatal(err)
	}
	all := document.Warnings
	for _, o := range document.Objects {
		all = append(all, o.Warnings...)
	}
	if diff := cmp.Diff([]string{"configmap/nowhere -n prod: old", "configmap/a -n prod: old", "configmap/b -n prod: old"}, all); diff != "" {
		t.Errorf("json (-want +got):\n%s", diff)
	}
}

// A run without changes prints only its result, in a log and on a terminal. A phase without a line
// has no heading.
func TestUnchangedObjects(t *testing.T) {
	story := func(n int) []event.Event {
		events := []event.Event{event.Planned{Phases: []event.Phase{{Name: "all", Total: n}, {Name: "none"}}}, event.PhaseStarted{}}
		for i := range n {
			events = append(events, event.Applied{Ref: config("c" + strings.Repeat("x", i)), Action: event.Unchanged})
		}
		return events
	}
	tests := map[string]struct {
		objects int
		verbose bool
		lines   int
	}{
		"one":             {objects: 1, lines: 1},
		"many":            {objects: 21, lines: 1},
		"many, with -v 1": {objects: 21, verbose: true, lines: 22},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := run(t, printer.OfApply, output.Options{Verbose: tt.verbose}, story(tt.objects))
			if n := strings.Count(got.out, "\n"); n != tt.lines {
				t.Errorf("%d lines, want %d:\n%s", n, tt.lines, got.out)
			}
			if heads := strings.Contains(got.err, "phase 1 of 2"); heads != tt.verbose || strings.Contains(got.err, "phase 2") {
				t.Errorf("headings:\n%s", got.err)
			}
		})
	}
}

// Fields that only change owners are reported in one line for the whole run, however many objects
// they are in. A value that changes together with its owner is always shown with its object.
func TestTakeovers(t *testing.T) {
	const csa = managedfields.ClientSideApply
	annotation := managedfields.Change{
		Path: fieldpath.Field("metadata", "annotations", managedfields.LastAppliedAnnotation), From: "{}", Kind: managedfields.Removed,
	}
	events := []event.Event{event.Planned{Phases: []event.Phase{{Name: "all", Total: 59}}}, event.PhaseStarted{}}
	for i := range 58 {
		events = append(events, event.Applied{
			Ref: config(fmt.Sprint("c", i)), Action: event.Configured, OnlyOwners: true,
			Removed: []managedfields.Change{annotation}, Adopted: []string{csa},
		})
	}
	changed := event.Applied{Ref: config("z"), Action: event.Configured, Removed: []managedfields.Change{annotation}, Adopted: []string{csa}}
	want := "configured  configmap/z -n prod\n"
	for i := range 12 {
		key := fmt.Sprintf("k%02d", i)
		changed.Taken = append(changed.Taken, managedfields.Change{
			Path: fieldpath.Field("data", key), From: "a", To: "b", Kind: managedfields.Contested,
			Owners: []managedfields.Owner{{Manager: csa, Operation: managedfields.Update}},
		})
		want += "    taken    .data." + key + "  from kubectl-client-side-apply (Update): a → b\n"
	}
	want += "59 objects taken over from kubectl-client-side-apply\n59 configured\n"
	got := run(t, printer.OfApply, output.Options{}, append(events, changed))
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := run(t, printer.OfApply, output.Options{Verbose: true}, append(events, changed)); strings.Count(got.out, "adopted  the fields of "+csa) != 59 {
		t.Errorf("adopted fields or values are missing although Verbose is set:\n%s", got.out)
	}
}

func TestManySkipped(t *testing.T) {
	var events []event.Event
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		events = append(events, event.Applied{Ref: config(name), Action: event.Skipped, Err: errors.New("phase one failed")})
	}
	events = append(events, event.Applied{Ref: object.Ref{Name: "x"}, Action: event.Skipped, Err: errors.New("its namespace failed")})
	const want = "skipped     /x: its namespace failed\nskipped     5 objects: phase one failed\n6 skipped\n"
	got := run(t, printer.OfApply, output.Options{}, events)
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func equalJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v in:\n%s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// namesIn lists the objects in a document, in order.
func namesIn(t *testing.T, text string) []string {
	t.Helper()
	var document struct{ Objects []struct{ Name string } }
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range document.Objects {
		names = append(names, o.Name)
	}
	return names
}

// A list in conflict that is owned as a whole is shown as a small diff, because two truncated lines
// of JSON would not show the difference.
func TestLargeConflict(t *testing.T) {
	rule := func(verb string) any {
		return map[string]any{"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "verbs": []any{"get", verb}}
	}
	conflict := func(yours, live []any) event.Applied {
		return event.Applied{Ref: config("a"), Action: event.InConflict, Conflicts: []managedfields.Conflict{{
			Path: fieldpath.Field("rules"), Yours: yours, Live: live, HasLive: true,
			Owners: []managedfields.Owner{{Manager: "flux", Operation: managedfields.Apply}},
		}}}
	}
	planned := event.Planned{Phases: []event.Phase{{Name: "all", Total: 1}}}
	got := run(t, printer.OfApply, output.Options{}, []event.Event{planned, event.PhaseStarted{}, conflict([]any{rule("list"), rule("watch")}, []any{rule("list"), rule("patch")})})
	const want = `conflict  configmap/a -n prod
  .rules     flux (Apply)
    --- live
    +++ yours
    @@ -12,3 +12,3 @@
       verbs:
       - get
    -  - patch
    +  - watch
`
	if !strings.HasPrefix(got.out, want) {
		t.Errorf("got:\n%s\nwant at its beginning:\n%s", got.out, want)
	}

	var many []any
	for range 50 {
		many = append(many, rule("watch"))
	}
	got = run(t, printer.OfApply, output.Options{}, []event.Event{planned, event.PhaseStarted{}, conflict(many, []any{rule("list")})})
	if n := strings.Count(got.out, "\n"); n > 40 || !strings.Contains(got.out, "more lines; diff shows all") {
		t.Errorf("%d lines:\n%s", n, got.out)
	}
}

// A diff that finds differences has succeeded. The run's id is printed only for failures.
func TestSuccessfulDiffPrintsNoRunID(t *testing.T) {
	for action, named := range map[event.Action]bool{
		event.Create: false, event.Update: false, event.Recreate: false, event.Share: false, event.Delete: false, event.None: false, event.Unknown: true,
	} {
		events := []event.Event{
			event.Planned{Phases: []event.Phase{{Name: "configuration", Total: 1, Refs: []object.Ref{config("a")}}}},
			event.Compared{Ref: config("a"), Action: action},
		}
		if got := run(t, printer.OfDiff, output.Options{Run: "01ABC"}, events); strings.Contains(got.err, "run: 01ABC") != named {
			t.Errorf("%s: %s%s", action, got.out, got.err)
		}
	}
}
