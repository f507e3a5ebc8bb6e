package recorder

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Metrics of a recorder. A nil one counts nothing.
type Metrics struct {
	transitions         *prometheus.CounterVec
	recordsWritten      prometheus.Counter
	writeErrors         *prometheus.CounterVec
	lost                prometheus.Counter
	pending             prometheus.Gauge
	unloggedTransitions prometheus.Counter
	behind              prometheus.GaugeFunc
	readBehind          atomic.Pointer[func() float64]
}

// NewMetrics returns metrics that are zero.
func NewMetrics() *Metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "k8sconnect", Name: name, Help: help}
	}
	m := &Metrics{
		transitions: prometheus.NewCounterVec(counter("ownership_transitions_total",
			"Changes of field owners that this replica saw; reason says why one is unclear. Every replica sees all."), []string{"kind", "reason"}),
		recordsWritten: prometheus.NewCounter(counter("records_written_total", "Writes of ownership records.")),
		writeErrors: prometheus.NewCounterVec(counter("records_write_errors_total",
			"Writes of ownership records that were refused, by the API server's reason. They are tried again."), []string{"reason"}),
		lost: prometheus.NewCounter(counter("records_lost_total",
			"Takeovers and releases that are in no record, because there was no room for them before they could be written. Their time is declared as a gap.")),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "k8sconnect", Name: "records_pending", Help: "Takeovers and releases that are not written yet.",
		}),
		unloggedTransitions: prometheus.NewCounter(counter("transitions_unlogged_total",
			"Transitions that are not in the log, because it was not read fast enough.")),
	}
	m.behind = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "k8sconnect", Name: "records_behind_seconds",
		Help: "For how long the oldest takeover or release has waited that this replica should have written by now.",
	}, func() float64 {
		if read := m.readBehind.Load(); read != nil {
			return (*read)()
		}
		return 0
	})
	return m
}

// follow sets how to read the age of the oldest waiting change.
func (m *Metrics) follow(behind func() float64) {
	if m != nil {
		m.readBehind.Store(&behind)
	}
}

// Register registers the metrics.
func (m *Metrics) Register(registry prometheus.Registerer) error {
	var errs []error
	for _, c := range []prometheus.Collector{m.transitions, m.recordsWritten, m.writeErrors, m.lost, m.pending, m.unloggedTransitions, m.behind} {
		errs = append(errs, registry.Register(c))
	}
	return errors.Join(errs...)
}

func (m *Metrics) transition(kind ownership.Kind, why ownership.Why) {
	if m != nil {
		m.transitions.WithLabelValues(string(kind), string(why)).Inc()
	}
}

func (m *Metrics) written() {
	if m != nil {
		m.recordsWritten.Inc()
	}
}

func (m *Metrics) refused(reason string) {
	if m != nil {
		m.writeErrors.WithLabelValues(reason).Inc()
	}
}

func (m *Metrics) unlogged() {
	if m != nil {
		m.unloggedTransitions.Inc()
	}
}

// state sets how much is pending, and adds what was lost.
func (m *Metrics) state(pending, lost int) {
	if m != nil {
		m.pending.Set(float64(pending))
		m.lost.Add(float64(lost))
	}
}
