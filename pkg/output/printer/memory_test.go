package printer_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/test/heap"
)

// The table keeps only the line and place of each result, so its memory does not grow with the
// events. The test measures the memory after the last result, before the phase is written. The
// measurement includes the plan.
func TestTableKeepsLines(t *testing.T) {
	const objects = 5000
	for name, test := range map[string]struct {
		report printer.Report
		result func(object.Ref) event.Event
		most   int
	}{
		"apply":  {printer.OfApply, func(ref object.Ref) event.Event { return event.Applied{Ref: ref, Action: event.Created} }, 350},
		"again":  {printer.OfApply, func(ref object.Ref) event.Event { return event.Applied{Ref: ref, Action: event.Unchanged} }, 220},
		"delete": {printer.OfDelete, func(ref object.Ref) event.Event { return event.Deleted{Ref: ref, Action: event.Gone} }, 350},
		"wait":   {printer.OfWait, func(ref object.Ref) event.Event { return event.Waited{Ref: ref, Action: event.Met} }, 220},
	} {
		t.Run(name, func(t *testing.T) {
			refs := make([]object.Ref, objects)
			for i := range refs {
				refs[i] = config(fmt.Sprintf("c-%d", i))
			}
			before := heap.Reachable()
			p, err := printer.For(test.report, output.Options{Out: io.Discard, Err: io.Discard, Format: output.Table})
			if err != nil {
				t.Fatal(err)
			}
			p.Print(event.Planned{Phases: []event.Phase{{Name: "one", Total: objects, Refs: refs}}})
			p.Print(event.PhaseStarted{})
			for _, ref := range refs {
				p.Print(test.result(ref))
			}
			each := (heap.Reachable() - before) / objects
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if t.Logf("%d bytes are kept of each result", each); each > test.most || each <= 0 {
				t.Errorf("%d bytes are kept of each result, want at most %d", each, test.most)
			}
			runtime.KeepAlive(refs)
		})
	}
}
