package admission

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// fault is a kind of failure at a review, none of which denies a request.
type fault string

const (
	faultReview fault = "review" // invalid, and so not answered
	faultObject fault = "object" // an object that is not understood
	faultPanic  fault = "panic"
	faultAnswer fault = "answer" // not delivered
)

// metrics are the handlers' counters.
type metrics struct {
	warnings     *prometheus.CounterVec
	hintsDropped prometheus.Counter
	faults       *prometheus.CounterVec
	duration     *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		warnings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "k8sconnect_warnings_total", Help: "Warnings sent to clients, by what they are about.",
		}, []string{"about"}),
		hintsDropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "k8sconnect_hints_dropped_total", Help: "Hints at changes of ownership for which there was no room: who made them is not recorded.",
		}),
		faults: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "k8sconnect_admission_faults_total", Help: "Reviews that could not be judged, by why. Their requests were not denied.",
		}, []string{"webhook", "fault"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "k8sconnect_admission_duration_seconds", Help: "How long a review took to answer, from its first byte.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 2},
		}, []string{"webhook"}),
	}
	for _, c := range []prometheus.Collector{m.warnings, m.hintsDropped, m.faults, m.duration} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) warned(a about)                { m.warnings.WithLabelValues(string(a)).Inc() }
func (m *metrics) fault(webhook string, f fault) { m.faults.WithLabelValues(webhook, string(f)).Inc() }

func (m *metrics) since(webhook string, start time.Time) {
	m.duration.WithLabelValues(webhook).Observe(time.Since(start).Seconds())
}
