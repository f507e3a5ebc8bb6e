package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// deployment returns a large Deployment from an API server, with fields of five managers; version
// is that of its image.
func deployment(tb testing.TB, version, taker string) []byte {
	tb.Helper()
	content, err := os.ReadFile("testdata/deployment.json")
	if err != nil {
		tb.Fatal(err)
	}
	content = bytes.ReplaceAll(content, []byte("VERSION"), []byte(version))
	return bytes.ReplaceAll(content, []byte("TAKER"), []byte(taker))
}

func newHandler(tb testing.TB, e evaluator) *handler {
	tb.Helper()
	count, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		tb.Fatal(err)
	}
	return &handler{
		name: "ownership", evaluate: e, count: count, draining: func() bool { return false },
		log: newComplaints(logr.Discard()), intake: &intake{},
	}
}

func reviewOf(tb testing.TB, request admissionv1.AdmissionRequest) []byte {
	tb.Helper()
	review := admissionv1.AdmissionReview{Request: &request}
	review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
	body, err := json.Marshal(review)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// The benchmark answers one review, without the network. The 99th percentile of a takeover should
// be below a millisecond.
func BenchmarkOwnership(b *testing.B) {
	update := func(old, now []byte) admissionv1.AdmissionRequest {
		return admissionv1.AdmissionRequest{
			UID: "1", Operation: admissionv1.Update, Object: runtime.RawExtension{Raw: now}, OldObject: runtime.RawExtension{Raw: old},
		}
	}
	for name, request := range map[string]admissionv1.AdmissionRequest{
		"same owners": update(deployment(b, "1", "argo"), deployment(b, "2", "argo")),
		"takeover":    update(deployment(b, "1", "argo"), deployment(b, "2", "flux")),
	} {
		b.Run(name, func(b *testing.B) {
			body := reviewOf(b, request)
			handler := newHandler(b, nil)
			handler.evaluate = takings{count: handler.count, deprecations: &Catalogue{Server: deprecation.Release{Major: 1, Minor: 37}}}.evaluate
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			var times []time.Duration
			for b.Loop() {
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodPost, OwnershipPath, bytes.NewReader(body))
				started := time.Now()
				handler.ServeHTTP(w, r)
				times = append(times, time.Since(started))
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
			slices.Sort(times)
			for _, percent := range []int{50, 99} {
				b.ReportMetric(float64(times[len(times)*percent/100].Microseconds()), fmt.Sprintf("p%d-µs", percent))
			}
		})
	}
}
