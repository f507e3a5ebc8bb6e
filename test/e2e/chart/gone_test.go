package chart_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The chart's part of the first promise: the API server continues without the webhook, and counts
// that in the metric of the alert.
func TestWritesPassWithoutTheWebhook(t *testing.T) {
	s := newSite(t)
	s.namespace(t, "work")
	s.install(t, "gone", "gone-home")
	l := s.listen(t, "gone", "gone-home")
	for i, gone := range []struct {
		name string
		do   func(t *testing.T)
	}{
		{"another certificate is trusted", func(t *testing.T) {
			_, bundle := certificateFor(t, "gone.gone-home.svc")
			s.trust(t, "gone", bundle)
		}},
		{"no listener", func(t *testing.T) {
			s.trust(t, "gone", l.caBundle)
			l.server.Close() // with its connections
		}},
		// Helm 3 deletes the Service before the configuration.
		{"no Service", func(t *testing.T) {
			if err := s.typed.CoreV1().Services("gone-home").Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(gone.name, func(t *testing.T) {
			gone.do(t)
			ignored := s.ignored(t)
			n := 0
			eventually(t, "the API server goes on without an answer", func() bool {
				n++ // each write is a takeover, and has to succeed
				s.apply(t, configMaps, configMap("work", "gone", fmt.Sprintf("a: '%d'", n)), fmt.Sprintf("owner-%d-%d", i, n%2))
				return s.ignored(t) > ignored
			})
		})
	}
}

// ignored returns how often the API server continued without a response from "ownership".
func (s site) ignored(t *testing.T) (times float64) {
	t.Helper()
	return s.counted(t, `apiserver_admission_webhook_fail_open_count{name="ownership.k8sconnect.io"`)
}
