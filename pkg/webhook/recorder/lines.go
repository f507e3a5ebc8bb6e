package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const maxLines = 10_000

type line struct {
	Time            time.Time          `json:"time"`
	APIVersion      string             `json:"apiVersion"`
	Kind            string             `json:"kind"`
	Namespace       string             `json:"namespace,omitempty"`
	Name            string             `json:"name"`
	UID             types.UID          `json:"uid"`
	ResourceVersion string             `json:"resourceVersion"`
	Path            string             `json:"path"`
	Transition      ownership.Kind     `json:"transition"`
	Why             ownership.Why      `json:"why,omitempty"`
	From            []ownership.Holder `json:"from"`
	To              []ownership.Holder `json:"to"`
	Forced          bool               `json:"forced,omitempty"`
	Gap             bool               `json:"gap,omitempty"`
	User            string             `json:"user,omitempty"`
}

// log queues an occurrence as a line of JSON, and never waits for the writer. Lines that do not fit
// in the queue are dropped and counted.
func (r *Recorder) log(o ownership.Occurrence) {
	if r.opts.Transitions == nil {
		return
	}
	content, err := json.Marshal(line{
		Time: o.Time.UTC(), APIVersion: o.Object.APIVersion, Kind: o.Object.Kind, Namespace: o.Object.Namespace,
		Name: o.Object.Name, UID: o.Object.UID, ResourceVersion: o.ResourceVersion,
		Path: o.Path.String(), Transition: o.Kind, Why: o.Why, From: ownership.HoldersOf(o.Before), To: ownership.HoldersOf(o.After),
		Forced: o.Forced, Gap: o.Gap, User: o.User,
	})
	if err != nil { // Every field can be written as JSON.
		return
	}
	select {
	case r.lines <- append(content, '\n'):
	default:
		r.metrics.unlogged.Inc()
	}
}

func (r *Recorder) writeLines(ctx context.Context) {
	for {
		select {
		case l := <-r.lines:
			r.writeLine(l)
		case <-ctx.Done():
			for {
				select {
				case l := <-r.lines:
					r.writeLine(l)
				default:
					return
				}
			}
		}
	}
}

func (r *Recorder) writeLine(l []byte) {
	if _, err := r.opts.Transitions.Write(l); err != nil {
		r.metrics.unlogged.Inc()
	}
}

const (
	eventReason    = "FieldOwnershipTaken"
	eventTakeovers = 5
	// eventNote is the API server's limit for the message of an Event, in bytes.
	eventNote = 1024
)

// announce sends an Event about fields that were taken for the first time. For later takeovers,
// only the count in the record changes.
func (r *Recorder) announce(o ownership.Object, fresh []ownership.Entry) {
	taken := slices.DeleteFunc(fresh, func(e ownership.Entry) bool { return e.Kind != ownership.Taken })
	if r.opts.Events == nil || len(taken) == 0 {
		return
	}
	object := &corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	r.opts.Events.Eventf(object, corev1.EventTypeWarning, eventReason, "%s", eventText(taken))
}

func eventText(taken []ownership.Entry) string {
	var parts []string
	length := len(fmt.Sprintf("; +%d more", len(taken)))
	for _, e := range taken[:min(len(taken), eventTakeovers)] {
		part := text.Printable(e.String())
		if length += len(part) + len("; "); length > eventNote {
			break
		}
		parts = append(parts, part)
	}
	switch more := len(taken) - len(parts); {
	case len(parts) == 0:
		return fmt.Sprintf("%d fields taken; see its OwnershipRecord", len(taken))
	case more > 0:
		parts = append(parts, fmt.Sprintf("+%d more", more))
	}
	return strings.Join(parts, "; ")
}

type metrics struct {
	transitions, writeErrors       *prometheus.CounterVec
	recordsWritten, lost, unlogged prometheus.Counter
	pending                        prometheus.Gauge
	behind                         prometheus.GaugeFunc
}

func newMetrics(behind func() float64) metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "k8sconnect", Name: name, Help: help}
	}
	return metrics{
		transitions: prometheus.NewCounterVec(counter("ownership_transitions_total",
			"Changes of field owners seen by this replica; the label reason says why a change is unclear. Every replica sees all changes."), []string{"kind", "reason"}),
		recordsWritten: prometheus.NewCounter(counter("records_written_total", "Writes of ownership records.")),
		writeErrors: prometheus.NewCounterVec(counter("records_write_errors_total",
			"Writes of ownership records that were refused, by the API server's reason. They are retried."), []string{"reason"}),
		lost: prometheus.NewCounter(counter("records_lost_total",
			"Takeovers and releases that are not in a record, because they were dropped before they could be written. They are counted in the object's record, or the time in which they happened is declared a gap.")),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "k8sconnect", Name: "records_pending", Help: "Takeovers and releases that are not written yet.",
		}),
		unlogged: prometheus.NewCounter(counter("transitions_unlogged_total",
			"Transitions that are not in the log, because it was not read fast enough.")),
		behind: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "k8sconnect", Name: "records_behind_seconds",
			Help: "How long this replica's oldest overdue takeover or release has been waiting.",
		}, behind),
	}
}

// Register registers the recorder's metrics.
func (r *Recorder) Register(registry prometheus.Registerer) error {
	m := r.metrics
	var errs []error
	for _, c := range []prometheus.Collector{m.transitions, m.recordsWritten, m.writeErrors, m.lost, m.pending, m.unlogged, m.behind} {
		errs = append(errs, registry.Register(c))
	}
	return errors.Join(errs...)
}
