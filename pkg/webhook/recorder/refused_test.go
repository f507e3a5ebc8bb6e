package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/recorder"
)

// Refused writes are kept and logged once. Transitions of records that can never be written are
// dropped silently.
func TestRefusals(t *testing.T) {
	group := resource()
	terminating := apierrors.NewForbidden(group, "x", errors.New("the namespace is going"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	undefined := apierrors.NewGenericServerResponse(404, "POST", group, "x", "", 0, true)
	tests := map[string]struct {
		err     error
		settled bool
		reason  string
	}{
		"rights":               {err: apierrors.NewForbidden(group, "x", errors.New("no")), reason: "Forbidden"},
		"too large":            {err: apierrors.NewRequestEntityTooLargeError("no"), reason: "RequestEntityTooLarge"},
		"busy":                 {err: apierrors.NewTooManyRequests("no", 1), reason: "TooManyRequests"},
		"always a conflict":    {err: apierrors.NewConflict(group, "x", errors.New("no")), reason: "Conflict"},
		"down":                 {err: errDown, reason: "Unknown"},
		"CRD is not installed": {err: undefined, reason: "NotFound"},
		"no such namespace":    {err: apierrors.NewNotFound(corev1.Resource("namespaces"), "prod"), settled: true},
		"terminating":          {err: terminating, settled: true},
		"wrapped terminating":  {err: fmt.Errorf("create: %w", terminating), settled: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
				d.misbehave(func(operation string) error {
					if operation == "get" {
						return nil
					}
					return tt.err
				})
				d.report("web", "alice", taken("a", 0, 1))
				d.report("db", "alice", taken("a", 0, 1))
				after(10 * time.Minute)
				if (d.settled.Load() == 2) != tt.settled {
					t.Errorf("%d settled", d.settled.Load())
				}
				if lines := strings.Count(d.log.text(), "\n"); tt.settled && lines > 0 || !tt.settled && lines != 1 {
					t.Errorf("got log %s, want one line, or none for dropped transitions", d.log.text())
				}
				if tt.reason != "" && d.metric(t, "k8sconnect_records_write_errors_total", tt.reason) < 2 {
					t.Errorf("no write error is counted with reason %s", tt.reason)
				}
				d.misbehave(nil)
				after(10 * time.Minute)
				if d.settled.Load() != 2 || tt.settled != (len(d.entries()) == 0) {
					t.Errorf("in the end, %d settled, entries %v", d.settled.Load(), d.entries())
				}
			})
		})
	}
}

// Losses are counted, and mentioned in the record of their object (edge case 81).
func TestLossesAreCounted(t *testing.T) {
	inBubble(t, recorder.Options{Limits: recorder.Limits{PerObject: 10}}, func(t *testing.T, d *desk) {
		d.Lead(true)
		d.misbehave(func(string) error { return errDown })
		for n := range 30 {
			d.report("web", "alice", taken(fmt.Sprint("p", n), 0, 1))
		}
		after(time.Minute)
		d.misbehave(nil)
		after(time.Hour)
		records := d.all()
		if n := d.metric(t, "k8sconnect_records_lost_total"); n != 20 {
			t.Errorf("%v are counted", n)
		}
		if len(records) != 1 || records[0].Lost != 20 || len(records[0].Entries) != 10 || d.settled.Load() != 30 {
			t.Errorf("%d settled, records %+v", d.settled.Load(), records)
		}
	})
}

// If one of two replicas drops transitions that the other has written, the record does not mention
// a loss.
func TestNoLossIfOtherReplicaRecords(t *testing.T) {
	inBubble(t, recorder.Options{Limits: recorder.Limits{PerObject: 10}}, func(t *testing.T, d *desk) {
		d.Lead(true)
		other := recorder.New(&handle{memory: d.memory}, recorder.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- other.Run(ctx) }()
		d.misbehave(func(string) error { return errDown })
		for n := range 30 {
			o := ownership.Occurrence{
				Object:     ownership.Object{APIVersion: "v1", Kind: "Thing", Namespace: "prod", Name: "web", UID: "web"},
				Transition: taken("a", n%2, (n+1)%2),
				Occasion:   ownership.Occasion{ResourceVersion: fmt.Sprint(200 + n), Time: time.Now(), User: "alice"},
			}
			d.Record(o, nil)
			other.Record(o, nil)
		}
		after(time.Minute)
		d.misbehave(nil)
		after(time.Hour)
		if r := d.all()[0]; r.Lost != 0 || r.Entries[0].Count != 30 {
			t.Errorf("%d are lost, %d are counted", r.Lost, r.Entries[0].Count)
		}
		cancel()
		<-ended
	})
}

// A user edited a record so that it names another object. The gap is handled all the same.
func TestGapWithEditedRecord(t *testing.T) {
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		d.report("web", "alice", taken("a", 0, 1))
		after(time.Second)
		r := d.all()[0]
		r.Object.Kind = "a/../b"
		d.mu.Lock()
		err := d.write(&r)
		d.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		d.misbehave(func(operation string) error {
			if operation != "list" {
				return errDown
			}
			return nil
		})
		live := func(types.UID) (ownership.Owners, string, bool) {
			return ownership.Compact([]metav1.ManagedFieldsEntry{{
				Manager: "helm", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:a":{}}}`),
			}}), "999", true
		}
		if err := d.Gap(t.Context(), live); err != nil {
			t.Error(err)
		}
	})
}

// After a gap, existing records get the net change.
func TestGap(t *testing.T) {
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		d.report("web", "alice", taken("a", 0, 1))
		d.report("db", "alice", taken("a", 0, 1))
		d.report("gone", "alice", taken("a", 0, 1))
		after(time.Second)
		d.report("web", "alice", taken("a", 1, 0)) // pending
		owner := metav1.ManagedFieldsEntry{
			Manager: "helm", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:a":{}}}`),
		}
		calls := 0
		live := func(uid types.UID) (ownership.Owners, string, bool) {
			calls++
			return ownership.Compact([]metav1.ManagedFieldsEntry{owner}), "999", uid != "gone"
		}
		d.misbehave(func(operation string) error {
			if operation == "update" && calls < 5 {
				return errDown
			}
			return nil
		})
		if err := d.Gap(t.Context(), live); !errors.Is(err, errDown) {
			t.Errorf("error %v", err)
		}
		d.misbehave(nil)
		for range 2 {
			if err := d.Gap(t.Context(), live); err != nil {
				t.Error(err)
			}
		}
		after(time.Hour)
		want := []string{
			"db: .spec.a taken from argo (Apply) by flux (Apply) ×1 alice",
			"db: .spec.a lost by flux (Apply) to helm (Apply) ×1 ",
			"gone: .spec.a taken from argo (Apply) by flux (Apply) ×1 alice",
			"web: .spec.a taken from flux (Apply) by argo (Apply) ×2 alice",
			"web: .spec.a lost by argo (Apply) to helm (Apply) ×1 ",
		}
		if diff := cmp.Diff(want, d.entries()); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
	})
}
