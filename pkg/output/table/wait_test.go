package table

import (
	"slices"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// A problem is reported once: if a cause says why Pods are rejected, the condition does not repeat
// it. It does with -v 1, and next to a doubt without a cause.
func TestRejectionIsReportedOnce(t *testing.T) {
	w := event.Waited{
		Action: event.TimedOut,
		Conditions: []event.Condition{{
			For: "ready", Message: `0 of 1 replica is up to date; Pods cannot be created (FailedCreate): pods "web-x" is forbidden`,
			Values: []event.Value{
				{Expr: ".status.replicas", Value: int64(0)},
				{Expr: `.status.conditions[type="ReplicaFailure"]`, Value: "FailedCreate"},
			},
		}},
	}
	short := []string{"not ready: 0 of 1 replica is up to date", "PodSecurityViolation"}
	for name, c := range map[string]struct {
		causes  []event.Cause
		verbose bool
		want    int
	}{
		"a cause":                       {causes: []event.Cause{{Code: "PodSecurityViolation", Evidence: []string{"event FailedCreate: pods are forbidden"}}}, want: 2},
		"a cause, verbose":              {causes: []event.Cause{{Code: "PodSecurityViolation", Evidence: []string{"event FailedCreate: pods are forbidden"}}}, verbose: true, want: 5},
		"no known cause":                {causes: []event.Cause{{Code: "CreateRefused", Evidence: []string{"event FailedCreate: pods are forbidden"}}}, want: 3},
		"a missing permission":          {causes: []event.Cause{{Code: "NotAllowed", Doubt: true}}, want: 4},
		"a cause for an older revision": {causes: []event.Cause{{Code: "ImagePull", Passing: true}}, want: 4},
		"no cause":                      {want: 3},
	} {
		w.Causes = c.causes
		got := waitedLines(output.Base{Options: output.Options{Verbose: c.verbose}}, w, 0)
		if len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
		if name == "a cause" && !slices.Equal(got[:2], short) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
