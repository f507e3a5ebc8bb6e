package printer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// Failures, and timeouts without a cause, that differ only in the object become one: the first few
// objects are named, the others counted. -v 1 names each.
func TestSameFailuresBecomeOne(t *testing.T) {
	refused := errors.New("the server refused it")
	condition := func(message string) []event.Condition { return []event.Condition{{For: "ready", Message: message}} }
	var applied, deleted, waited []event.Event
	for i := range 30 {
		of := ref("v1", "ConfigMap", "shop", fmt.Sprintf("c-%02d", i))
		applied = append(applied, event.Applied{Ref: of, Action: event.Failed, Err: refused})
		deleted = append(deleted, event.Deleted{Ref: of, Action: event.Failed, Err: refused})
		waited = append(waited, event.Waited{Ref: of, Action: event.TimedOut, Conditions: condition("0 of 3 replicas are ready")})
	}
	waited = append(waited, event.Waited{Ref: ref("v1", "ConfigMap", "shop", "other"), Action: event.TimedOut, Conditions: condition("1 of 3 replicas are ready")})
	for name, tt := range map[string]struct {
		report printer.Report
		events []event.Event
		want   string
	}{
		"apply": {printer.OfApply, applied, `failed      configmap/c-00 -n shop
failed      configmap/c-01 -n shop
failed      configmap/c-02 -n shop
failed      configmap/c-03 -n shop
failed      26 more objects (-v 1 names each)
    the server refused it
30 failed
`},
		"delete": {printer.OfDelete, deleted, `failed       configmap/c-00 -n shop
failed       configmap/c-01 -n shop
failed       configmap/c-02 -n shop
failed       configmap/c-03 -n shop
failed       26 more objects (-v 1 names each)
    the server refused it
30 failed
`},
		"wait": {printer.OfWait, waited, `timeout  configmap/c-00 -n shop
    not ready: 0 of 3 replicas are ready
timeout  configmap/c-01 -n shop: in the same state
timeout  configmap/c-02 -n shop: in the same state
timeout  27 more objects: in the same state (-v 1 names each)
timeout  configmap/other -n shop
    not ready: 1 of 3 replicas are ready
31 not met in time
`},
	} {
		if diff := cmp.Diff(tt.want, run(t, tt.report, output.Options{}, tt.events).out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		each := run(t, tt.report, output.Options{Verbose: true}, tt.events).out
		if n := strings.Count(each, "configmap/c-"); n != 30 {
			t.Errorf("%s -v 1 names %d objects:\n%s", name, n, each)
		}
	}
}
