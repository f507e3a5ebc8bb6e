package printer_test

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

func lacks(read any) []event.Condition {
	return []event.Condition{{
		For: "self.status.readyReplicas >= 3 && has(self.status.conditions)",
		Values: []event.Value{
			{Expr: "self.status.readyReplicas", Value: read},
			{Expr: "self.status.conditions", Absent: true},
		},
	}}
}

// waitStory has every kind of event of a wait.
func waitStory(*testing.T) []event.Event {
	settings, db, old := config("settings"), ref("apps/v1", "StatefulSet", "prod", "db"), ref("v1", "Pod", "prod", "old")
	address := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": "prod"},
		"data": map[string]any{"text": "a\x1b[31mb"},
	}}
	return []event.Event{
		event.Planned{Phases: []event.Phase{{Name: "waiting", Total: 4, Refs: []object.Ref{web(), settings, db, config("gone")}}}},
		event.PhaseStarted{},
		event.Awaited{Ref: old},
		event.Judged{Ref: web(), Conditions: lacks(int64(1))},
		event.Waited{Ref: settings, Action: event.Met, Object: address},
		event.Waited{Ref: config("gone"), Action: event.Met},
		event.Warned{Ref: old, Text: "was deleted during the wait"},
		event.Waited{Ref: old, Action: event.Gone, Note: "deleted during the wait"},
		event.Judged{Ref: web(), Conditions: lacks(int64(2))},
		event.Waited{
			Ref: web(), Action: event.TimedOut, Conditions: lacks(int64(2)),
			Causes: []event.Cause{{
				Code: "ImageNotFound", Message: "the image app:1.3 does not exist", Evidence: []string{"Pod web-1: ErrImagePull"},
				Next: "kubectl set image …", BlockedBy: ref("v1", "Pod", "prod", "web-1"),
			}},
		},
		event.Waited{
			Ref: db, Action: event.Failed,
			Conditions: []event.Condition{
				{For: "ready", Failed: true, Reason: "Stalled", Message: "it \x1b[31mstalled"},
				{For: "self.status.phase == 'Lost'", Forbidden: true, Met: true, Values: []event.Value{{Expr: "self.status.phase", Value: "Lost"}}},
			},
		},
		event.Waited{Ref: config("secret"), Action: event.Unknown, Err: hinted{errors.New("forbidden"), "ask"}},
	}
}

func TestWaitGolden(t *testing.T) {
	for name, o := range map[string]output.Options{
		"table":        {},
		"table-colour": {Color: true},
		"json":         {Format: output.JSON, Run: "01J"},
		"yaml":         {Format: output.YAML},
		"name":         {Format: output.Name},
		"stream":       {Format: output.Stream, Run: "01J"},
		"junit":        {Format: output.JUnit},
		"jsonpath":     {Format: output.JSONPath + "={.metadata.name} {.data.text}"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "wait-"+name, run(t, printer.OfWait, o, waitStory(t)))
		})
	}
}

func TestWaitPath(t *testing.T) {
	if _, err := printer.For(printer.OfWait, output.Options{Format: output.JSONPath + "={.a"}); err == nil {
		t.Error("no error for an unclosed template")
	}
	for template, want := range map[string]string{
		".metadata.name": "settings\n", "metadata.name": "settings\n", "{.nothing}": "\n", "{.metadata.name}{\"\\n\"}": "settings\n",
	} {
		if got := run(t, printer.OfWait, output.Options{Format: output.JSONPath + "=" + template}, waitStory(t)).out; got != want {
			t.Errorf("%s: %q, want %q", template, got, want)
		}
	}
}

// On a terminal, control characters in the output of a template are escaped, as in all other
// output.
func TestWaitPathOnTerminal(t *testing.T) {
	o := output.Options{Format: output.JSONPath + "={.data.text}", Width: columns(80)}
	if got := run(t, printer.OfWait, o, waitStory(t)).out; got != `a\x1b[31mb`+"\n" {
		t.Errorf("%q", got)
	}
}

// The wait after an apply is reported with the apply.
func TestApplyWaits(t *testing.T) {
	events := []event.Event{
		event.Planned{Phases: []event.Phase{{Name: "workloads", Total: 2, Refs: []object.Ref{web(), config("a")}}}},
		event.PhaseStarted{},
		event.Applied{Ref: web(), Action: event.Configured},
		event.Applied{Ref: config("a"), Action: event.Unchanged},
		event.Waiting{For: "2 objects to be ready"},
		event.Judged{Ref: web(), Conditions: lacks(int64(1))},
		event.Waited{Ref: config("a"), Action: event.Met},
		event.Waited{Ref: web(), Action: event.TimedOut, Conditions: lacks(int64(2))},
	}
	for name, o := range map[string]output.Options{
		"table": {}, "json": {Format: output.JSON}, "name": {Format: output.Name}, "junit": {Format: output.JUnit},
	} {
		t.Run(name, func(t *testing.T) { golden(t, "apply-wait-"+name, run(t, printer.OfApply, o, events)) })
	}
}

// The status line shows the value that an expression read, and not the expression itself.
func TestWaitLiveExpression(t *testing.T) {
	watch(t, printer.OfWait, columns(80), func(term *terminal, p *printer.Printer) {
		p.Print(event.Planned{Phases: []event.Phase{{Name: "waiting", Total: 1, Refs: []object.Ref{web()}}}})
		p.Print(event.PhaseStarted{})
		p.Print(event.Judged{Ref: web(), Conditions: []event.Condition{{
			For: "self.status.readyReplicas >= 3", Reason: "False", Message: "false: self.status.readyReplicas >= 3",
			Values: []event.Value{{Expr: "self.status.readyReplicas", Value: int64(2)}},
		}}})
		pass(time.Second)
		if got, want := term.bottom(), "waiting 0/1  deployment.apps/web -n prod: self.status.readyReplicas is 2"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

// During a wait, the status line says what is still missing, and follows its changes.
func TestWaitLive(t *testing.T) {
	term := watch(t, printer.OfWait, columns(120), func(term *terminal, p *printer.Printer) {
		for _, e := range waitStory(t)[:5] {
			p.Print(e)
		}
		pass(time.Second)
		if got, want := term.bottom(), "waiting 1/5  deployment.apps/web -n prod: self.status.readyReplicas is 1, self.status.conditions is absent"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		p.Print(event.Waited{Ref: web(), Action: event.Met})
		pass(time.Second)
	})
	if len(term.frames) == 0 {
		t.Error("no status line was drawn")
	}
}
