package faults_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// TestSilence drops the API server's calls to the webhook (edge case 102). The webhook notices,
// suspends the calls, and reports it; an upgrade does not undo that. When calls arrive again, it
// resumes them, and users are recorded.
func TestSilence(t *testing.T) {
	circle.Full(t)
	tr := beginWith(t, cluster.Options{}, "--shutdown-delay=0s")
	r := tr.first(t)
	tr.makeNamespace(t, "work")
	tr.take(t, "work", "c", "first")
	tr.Silence(true)
	tr.await(t, "calls are suspended", func() bool { return tr.suspended(t) == 3 })
	tr.await(t, "it is said", func() bool {
		return strings.Contains(tr.log.tail(1000), "the API server's calls are failing")
	})
	if n, err := r.Metric(t.Context(), "k8sconnect_admission_suspended"); err != nil || n != 1 {
		t.Errorf("k8sconnect_admission_suspended is %g, want 1 (%v)", n, err)
	}
	before := tr.ignored(t)
	for _, manager := range []string{"a", "b", "c", "d"} {
		tr.take(t, "work", "c", manager)
	}
	if after := tr.ignored(t); after != before {
		t.Errorf("the API server still made %d calls", after-before)
	}
	chart.NewHelm(t, tr.KubeconfigPath).Run(t, "upgrade", companion.Release, chart.Dir(t), "--namespace", companion.Namespace)
	if n := tr.suspended(t); n != 3 {
		t.Errorf("after an upgrade, %d entries are suspended, want 3", n)
	}
	tr.Silence(false)
	tr.await(t, "calls are resumed", func() bool { return tr.suspended(t) == 0 })
	n := 0
	tr.await(t, "a user is recorded", func() bool {
		n++
		tr.take(t, "work", "c", []string{"first", "second"}[n%2])
		records, err := tr.records(t.Context())
		return err == nil && len(records) == 1 && records[0].Entries[len(records[0].Entries)-1].User != ""
	})
	events, err := tr.typed.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=ValidatingWebhookConfiguration"})
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{"CallsSuspended", "CallsResumed"} {
		if !slices.Contains(eventReasons(events), reason) {
			t.Errorf("no Event %s in %v", reason, eventReasons(events))
		}
	}
}

func eventReasons(events *corev1.EventList) (out []string) {
	for _, e := range events.Items {
		out = append(out, e.Reason)
	}
	return out
}

// suspended returns the number of the configuration's suspended entries.
func (tr *trial) suspended(t *testing.T) int {
	t.Helper()
	is, err := tr.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), companion.Release, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(is.Webhooks, func(w admissionv1.ValidatingWebhook) bool {
		return w.ObjectSelector == nil || len(w.ObjectSelector.MatchLabels) == 0
	}))
}

// await waits for a condition, however slow the machine is.
func (tr *trial) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Since(began) > settleFor {
			t.Fatalf("timed out after %s: %s", settleFor, what)
		}
	}
}
