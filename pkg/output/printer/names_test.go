package printer_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// Lists and folded lines order names as people count: team-2 comes before team-10. The API server orders
// them by their bytes.
func TestNamesAreInNaturalOrder(t *testing.T) {
	at := func(n int) object.Ref {
		r := config("app")
		r.Namespace = fmt.Sprint("team-", n)
		return r
	}
	found := []int{1, 10, 100, 2, 20, 3}
	var refs []object.Ref
	for n := range 60 {
		refs = append(refs, at(100-n))
	}
	many := []event.Event{event.Planned{Phases: []event.Phase{{Name: "objects", Total: len(refs), Refs: refs}}}}
	for _, ref := range refs {
		many = append(many, event.Applied{Ref: ref, Action: event.Created})
	}
	var waited, warned []event.Event
	for _, n := range found {
		waited = append(waited, event.Waited{Ref: at(n), Action: event.TimedOut, Note: fmt.Sprint("its state is ", n)})
		warned = append(warned, event.Warned{Ref: at(n), Text: fmt.Sprint("has the fault ", n)})
	}
	for name, tt := range map[string]struct {
		of     printer.Report
		events []event.Event
		want   []string
	}{
		"selected objects": {printer.OfWait, waited, []string{"team-1", "team-2", "team-3", "team-10", "team-20", "team-100"}},
		"warnings":         {printer.OfWait, warned, []string{"team-1", "team-2", "team-3", "team-10", "team-20", "team-100"}},
		"folded":           {printer.OfApply, many, []string{"team-41", "team-42", "team-43"}},
	} {
		got := run(t, tt.of, output.Options{Format: output.Table}, tt.events)
		if names := regexp.MustCompile(`team-\d+`).FindAllString(got.err+got.out, -1); !slices.Equal(names, tt.want) {
			t.Errorf("%s: got %q, want %q:\n%s%s", name, names, tt.want, got.err, got.out)
		}
	}
}
