package printer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// Without a terminal, nothing is shortened in any output. A log is read later, when the run cannot
// be repeated to see the rest.
func TestLogShortensNothing(t *testing.T) {
	long := "begins " + strings.Repeat("x y", 2000) + " ends"
	err, name := errors.New(long), config("a")
	owner := managedfields.Owner{Manager: "m" + strings.Repeat("n", 120) + "o", Operation: managedfields.Update}
	contested := []managedfields.Conflict{{
		Path: fieldpath.Field("data", "k"), Yours: long, Live: "live " + long, HasLive: true, Owners: []managedfields.Owner{owner},
	}}
	for verb, test := range map[string]struct {
		report printer.Report
		events []event.Event
	}{
		"apply failed":   {printer.OfApply, []event.Event{event.Applied{Ref: name, Action: event.Failed, Err: err}}},
		"apply skipped":  {printer.OfApply, []event.Event{event.Applied{Ref: name, Action: event.Skipped, Err: err}}},
		"apply conflict": {printer.OfApply, []event.Event{event.Applied{Ref: name, Action: event.InConflict, Conflicts: contested}}},
		"apply warned": {printer.OfApply, []event.Event{
			event.Warned{Ref: name, Text: long}, event.Applied{Ref: name, Action: event.Created},
		}},
		"left out":       {printer.OfApply, []event.Event{event.LeftOut{Err: err}, event.Applied{Ref: name, Action: event.Created}}},
		"diff unknown":   {printer.OfDiff, []event.Event{event.Compared{Ref: name, Action: event.Unknown, Err: err}}},
		"delete failed":  {printer.OfDelete, []event.Event{event.Deleted{Ref: name, Action: event.Failed, Err: err}}},
		"delete skipped": {printer.OfDelete, []event.Event{event.Deleted{Ref: name, Action: event.Skipped, Err: err}}},
		"delete remains": {printer.OfDelete, []event.Event{event.Deleted{Ref: name, Action: event.Remains, Causes: []event.Cause{{Code: "C", Message: long}}}}},
		"wait unknown":   {printer.OfWait, []event.Event{event.Waited{Ref: name, Action: event.Unknown, Err: err}}},
		"wait timed out": {printer.OfWait, []event.Event{event.Waited{Ref: name, Action: event.TimedOut, Conditions: []event.Condition{
			{For: "f", Values: []event.Value{{Expr: "e", Value: long}}}, {For: "g", Err: err},
		}}}},
		"stuck": {printer.OfStuck, []event.Event{event.Planned{}, event.Stuck{Ref: name, Since: noon(), Causes: []event.Cause{{Code: "C", Message: long}}}}},
	} {
		for _, format := range []string{output.Table, output.Name} {
			got := run(t, test.report, output.Options{Format: format}, test.events)
			if verb == "stuck" && format == output.Name {
				continue // It only names the stuck objects.
			}
			if !strings.Contains(got.out+got.err, long) {
				t.Errorf("%s, -o %s: a long text is shortened: %s%s", verb, format, got.out, got.err)
			}
		}
	}
}
