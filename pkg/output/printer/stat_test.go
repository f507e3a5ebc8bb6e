package printer_test

import (
	"errors"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// With --stat, the reason for an unknown result appears once.
func TestStatShowsAReasonOnce(t *testing.T) {
	forbidden := errors.New("services is forbidden")
	got := run(t, printer.OfDiff, output.Options{Stat: true}, []event.Event{
		event.Compared{Ref: config("a"), Action: event.Unknown, Reason: forbidden.Error(), Err: forbidden},
	})
	if want := "unknown  configmap/a -n prod  services is forbidden\n"; got.out != want {
		t.Errorf("got %q, want %q", got.out, want)
	}
}
