package printer_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// rollout is a wait for two workloads and another object, as events in the order of their progress.
func rollout(print func(event.Event), pass func()) {
	db, settings := ref("apps/v1", "StatefulSet", "prod", "database"), config("settings")
	lacks := func(r object.Ref, message string) {
		print(event.Judged{Ref: r, Conditions: []event.Condition{{
			For: "ready", Message: message, Values: []event.Value{{Expr: "self.status.availableReplicas", Absent: true}},
		}}})
		pass()
	}
	print(event.Planned{Phases: []event.Phase{{Name: "waiting", Total: 3, Refs: []object.Ref{web(), db, settings}}}, Within: 5 * time.Minute})
	print(event.PhaseStarted{})
	lacks(web(), "1 of 6 replicas is up to date")
	lacks(db, "0 of 3 replicas are ready")
	lacks(settings, "no news")
	lacks(web(), "4 of 6 replicas are available")
	print(event.Waited{Ref: settings, Action: event.Met})
	pass()
	causes := []event.Cause{{Code: "Unschedulable", Message: "fits no node", Evidence: []string{"0/1 nodes"}, Next: "kubectl get nodes"}}
	print(event.Stalled{Ref: db, Causes: causes})
	pass()
	print(event.Waited{Ref: web(), Action: event.Met})
	pass()
	print(event.Waited{Ref: db, Action: event.TimedOut, Causes: causes})
}

// On a terminal, each awaited workload has a line with its replicas. The line is updated in place.
func TestWorkloadLines(t *testing.T) {
	var screens []string
	term := watchWith(t, printer.OfWait, output.Options{Width: columns(90), ErrWidth: columns(90)}, func(term *terminal, p *printer.Printer) {
		rollout(p.Print, func() {
			pass(time.Second)
			screens = append(screens, strings.Join(append(slices.Clone(term.lines), term.bottom()), "\n"))
		})
	})
	want := []string{
		"waiting 0/3  deployment.apps/web -n prod (1s of 5m): 1 of 6 replicas is up to date",
		"  deployment.apps/web -n prod        1 of 6 replicas is up to date\n" +
			"  statefulset.apps/database -n prod  0 of 3 replicas are ready\n" +
			"waiting 0/3  (2s of 5m)",
		"  deployment.apps/web -n prod        1 of 6 replicas is up to date\n" +
			"  statefulset.apps/database -n prod  0 of 3 replicas are ready\n" +
			"waiting 0/3  (3s of 5m): configmap/settings -n prod: no news (self.status.availableRepli…",
		"  deployment.apps/web -n prod        4 of 6 replicas are available\n" +
			"  statefulset.apps/database -n prod  0 of 3 replicas are ready\n" +
			"waiting 0/3  (4s of 5m): configmap/settings -n prod: no news (self.status.availableRepli…",
		"  deployment.apps/web -n prod        4 of 6 replicas are available\n" +
			"  statefulset.apps/database -n prod  0 of 3 replicas are ready\n" +
			"waiting 1/3  (5s of 5m)",
	}
	if diff := cmp.Diff(want, screens[:min(len(screens), len(want))]); diff != "" {
		t.Error(diff)
	}
	// The lines of workloads disappear at the end. The result does not repeat causes that were
	// reported during the wait.
	message := strings.Join(term.lines, "\n")
	if strings.Contains(message, "4 of 6") || strings.Count(message, "fits no node") != 1 || !strings.Contains(message, "    Unschedulable: see above\n      next     kubectl get nodes\n") {
		t.Errorf("got lines of workloads or repeated causes at the end:\n%s", message)
	}
}

// A log has no lines of workloads. Its result is complete, because a log is read from its end.
func TestWorkloadsInALog(t *testing.T) {
	var out, notes strings.Builder
	synctest.Test(t, func(t *testing.T) {
		p, err := printer.For(printer.OfWait, output.Options{Out: &out, Err: &notes})
		if err != nil {
			t.Fatal(err)
		}
		rollout(p.Print, func() { pass(time.Second) })
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if strings.Contains(notes.String(), "replicas") || !strings.Contains(out.String(), "Unschedulable: fits no node") {
		t.Errorf("stderr:\n%s\nstdout:\n%s", &notes, &out)
	}
}
