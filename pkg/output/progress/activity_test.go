package progress

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// A status may quote a long rejection, which is repeated in every progress line. The line keeps its
// start, its end, and the values that were read.
func TestShortly(t *testing.T) {
	message := `0 of 3 replicas are up to date; Pods cannot be created (FailedCreate): pods "web-7d8cfdb768-lqv7s" is forbidden: violates PodSecurity "restricted:latest": `
	refusal := message + strings.Repeat("a reason, ", 80) + "the end"
	values := []event.Value{{Expr: "self.spec.replicas", Value: int64(3)}}
	for name, c := range map[string]event.Condition{
		"with values": {For: "ready", Message: refusal, Values: values}, "alone": {For: "ready", Message: refusal},
	} {
		got := shortly(event.Judged{Conditions: []event.Condition{c}})
		if format.Cells(got) > len(refusal)/2 || !strings.HasPrefix(got, message) || !strings.Contains(got, "the end") ||
			strings.Contains(got, "self.spec.replicas is 3") != (c.Values != nil) {
			t.Errorf("%s: %s", name, got)
		}
	}
	long := strings.Repeat("self.a && ", 40) + "self.b"
	c := event.Condition{For: long, Message: "false: " + long, Values: values}
	if got := shortly(event.Judged{Conditions: []event.Condition{c}}); got != "self.spec.replicas is 3" {
		t.Errorf("false expression: got %s, want only the value that it read", got)
	}
}
