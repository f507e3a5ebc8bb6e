package printer_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// In every format, the end of a container's log follows the cause that names the container.
func TestCauseWithLog(t *testing.T) {
	cause := event.Cause{Code: "ContainerCrash", Message: "container app ends", Log: []string{"opening /data", "DBPathInUse: \x1b[31mlocked"}}
	web := object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	for format, want := range map[string]string{
		output.Table:  "      log      opening /data\n               DBPathInUse: \\x1b[31mlocked\n",
		output.JSON:   `"log": [`,
		output.Stream: `"log":["opening /data",`,
	} {
		var out, notes strings.Builder
		p, err := printer.For(printer.OfWait, output.Options{Out: &out, Err: &notes, Format: format})
		if err != nil {
			t.Fatal(err)
		}
		p.Print(event.Planned{Phases: []event.Phase{{Total: 1, Refs: []object.Ref{web}}}})
		p.Print(event.Stalled{Ref: web, Causes: []event.Cause{cause}})
		p.Print(event.Waited{Ref: web, Action: event.TimedOut, Causes: []event.Cause{cause}})
		if err := p.Close(t.Context()); err != nil && format != output.Table {
			t.Log(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", format, &out)
		}
		if text := notes.String(); !strings.Contains(text, "no progress: deployment.apps/web -n shop") || !strings.Contains(text, "DBPathInUse") {
			t.Errorf("%s: stderr %s", format, text)
		}
		if format == output.Stream && !strings.Contains(out.String(), `"type":"stalled"`) {
			t.Errorf("the stream has no event of type stalled: %s", &out)
		}
	}
}

// A failed evaluation is reported once below its object, next to the values that it read. It is not
// repeated as the object's error and as the condition's message.
func TestConditionErrorIsPrintedOnce(t *testing.T) {
	const message = "these types do not match: self.spec.members is a string, an int"
	err := errors.New("rules.yaml:2: " + message)
	unmet := event.Condition{For: "ready", Reason: "NotJudged", Message: message, Err: err, Values: []event.Value{{Expr: "self.spec.members", Value: "three"}}}
	forbidden := unmet
	forbidden.Forbidden = true // It is not listed, because the object does not lack it.
	for name, conditions := range map[string][]event.Condition{
		"unmet": {unmet}, "unmet, of a --fail-on": {{For: "ready", Met: true}, forbidden},
	} {
		got := run(t, printer.OfWait, output.Options{Format: output.Table}, []event.Event{
			event.Waited{Ref: web(), Action: event.Unknown, Conditions: conditions, Err: err},
		}).out
		if n := strings.Count(got, message); n != 1 {
			t.Errorf("%s: the error is printed %d times, want once:\n%s", name, n, got)
		}
	}
}

// If a kind cannot be read, the first object that cannot be explained for this reason has the full
// report. It is not repeated for other objects, neither during the wait nor in the results.
func TestMissingPermissionIsExplainedOnce(t *testing.T) {
	doubt := event.Cause{
		Code: "NotAllowed", Message: "you are not allowed to read these, so their state is unknown: pods in shop", Doubt: true,
		Evidence: []string{"pods is forbidden"}, Next: "kubectl auth can-i list pods -n shop",
	}
	var events []event.Event
	causes := map[string][]event.Cause{
		"a": {{Code: "StatusSays", Message: "a: its status says no"}, doubt}, "b": {{Code: "StatusSays", Message: "b: its status says no"}, doubt}, "c": {doubt},
	}
	for _, name := range []string{"a", "b", "c"} {
		events = append(events, event.Stalled{Ref: config(name), Causes: causes[name]})
	}
	for _, name := range []string{"a", "b", "c"} {
		events = append(events, event.Waited{Ref: config(name), Action: event.TimedOut, Causes: causes[name]})
	}
	got := run(t, printer.OfWait, output.Options{Format: output.Table}, events)
	for where, text := range map[string]string{"stderr": got.err, "stdout": got.out} {
		for of, want := range map[string]int{"NotAllowed: you are": 2, "can-i": 1, "pods is forbidden": 1, "b: its status": 1} {
			if n := strings.Count(text, of); n != want {
				t.Errorf("%s has %q %d times, not %d:\n%s", where, of, n, want, text)
			}
		}
	}
}
