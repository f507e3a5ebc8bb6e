package tracker

import "github.com/prometheus/client_golang/prometheus"

var _ prometheus.Collector = (*Tracker)(nil)

type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*Tracker) float64
}

func metrics() []metric {
	gauge := func(name, help string, read func(*Tracker) float64) metric {
		return metric{prometheus.NewDesc("k8sconnect_"+name, help, nil, nil), prometheus.GaugeValue, read}
	}
	counter := func(name, help string, read func(*Tracker) int) metric {
		return metric{
			prometheus.NewDesc("k8sconnect_"+name+"_total", help, nil, nil), prometheus.CounterValue,
			func(t *Tracker) float64 { return float64(read(t)) },
		}
	}
	return []metric{
		gauge("tracker_objects", "Objects whose owners are remembered.", (*Tracker).objects),
		gauge("tracker_kinds_watched", "Kinds that are watched.", func(t *Tracker) float64 { return t.kinds(false) }),
		gauge("tracker_kinds_refused", "Kinds that the webhook is not allowed to watch.", func(t *Tracker) float64 { return t.kinds(true) }),
		gauge("tracker_leads", "1 if this replica leads, and so declares gaps and stores the checkpoint.", (*Tracker).leading),
		gauge("tracker_gap_end_timestamp_seconds", "When the last gap in the history ended; 0 if there is none.", (*Tracker).gapEnd),
		gauge("tracker_unsettled", "Changes that are not written yet.", (*Tracker).unsettled),
		counter("tracker_gaps", "Gaps in the history that this replica has declared.", func(t *Tracker) int { return t.state.counts.gaps }),
		counter("tracker_unreadable", "Changes whose managed fields cannot be read.", func(t *Tracker) int { return t.state.counts.unreadable }),
		counter("hints_expired", "Admitted writes whose commit was not seen.", func(t *Tracker) int { return t.state.counts.expired }),
		counter("hints_displaced", "Hints dropped to make room for newer ones.", func(t *Tracker) int { return t.state.counts.dropped }),
	}
}

// Describe implements prometheus.Collector.
func (t *Tracker) Describe(out chan<- *prometheus.Desc) {
	for _, m := range metrics() {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (t *Tracker) Collect(out chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range metrics() {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(t))
	}
}

func (t *Tracker) objects() (n float64) {
	for _, w := range t.state.resources {
		n += float64(len(w.objects))
	}
	return n
}

func (t *Tracker) leading() float64 {
	if t.state.leading {
		return 1
	}
	return 0
}

func (t *Tracker) gapEnd() float64 {
	if t.gapped.IsZero() {
		return 0
	}
	return float64(t.gapped.Unix())
}

func (t *Tracker) unsettled() (n float64) {
	for _, m := range t.state.given { // Other replicas wait until the leader has written the rest.
		if !m.settled && (t.state.leading || m.joined) {
			n++
		}
	}
	for _, m := range t.state.waiting {
		if m.contested {
			n++
		}
	}
	if t.state.leading {
		n += float64(len(t.state.gaps))
	}
	return n
}

func (t *Tracker) kinds(refused bool) (n float64) {
	for _, w := range t.state.resources {
		if w.refused == refused {
			n++
		}
	}
	return n
}
