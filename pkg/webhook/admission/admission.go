// Package admission answers the API server's reviews. It warns about takeovers and deprecated APIs,
// and allows every request, even if evaluating it panics. Start with [New]. It has no client and
// keeps no history.
package admission

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// These are the paths that the API server calls, as in the webhook configuration.
const (
	OwnershipPath   = "/ownership"
	DeprecationPath = "/deprecation"
	DeletionPath    = "/deletion"
	// ReachPath is called for the writes that test whether the API server's calls get through.
	ReachPath = "/reach"
)

// Options are the options of admission. Registry is required.
type Options struct {
	// Hints receives hints for the tracker. It may be nil.
	Hints HintSink
	// Deletions receives hints about deletions. It may be nil.
	Deletions DeletionSink
	// Rollouts receives hints about changed Pod templates. It may be nil.
	Rollouts RolloutSink
	// Live returns what is tracked about an object; may be nil.
	Live func(uid types.UID) (kind string, owners ownership.Owners, resourceVersion string, ok bool)
	// Values adds values to hints, for the few paths whose values may be recorded.
	Values bool
	// Deprecations may be nil.
	Deprecations Deprecations
	// Draining reports whether clients should reconnect to another replica; nil means never.
	Draining func() bool
	// Log receives the reviews that cannot be answered. The zero value discards them.
	Log      logr.Logger
	Registry prometheus.Registerer
}

// New returns the handler for each path.
func New(opts Options) (map[string]http.Handler, error) {
	count, err := newMetrics(opts.Registry)
	if err != nil {
		return nil, err
	}
	draining := opts.Draining
	if draining == nil {
		draining = func() bool { return false }
	}
	log, limit := newComplaints(opts.Log), &intake{}
	handlers := map[string]http.Handler{}
	for path, evaluate := range map[string]evaluator{
		OwnershipPath:   both(takings{hints: opts.Hints, live: opts.Live, deprecations: opts.Deprecations, count: count, values: opts.Values}.evaluate, rollouts{sink: opts.Rollouts, count: count}.evaluate),
		DeprecationPath: notices{deprecations: opts.Deprecations}.evaluate,
		DeletionPath:    deletions{sink: opts.Deletions, count: count}.evaluate,
		ReachPath:       echo,
	} {
		handlers[path] = &handler{name: path[1:], evaluate: evaluate, count: count, log: log, intake: limit, draining: draining}
	}
	return handlers, nil
}

// fault is a kind of failure in the handling of a request. A fault never causes a request to be
// denied.
type fault string

const (
	faultReview fault = "review" // invalid, and so not answered
	faultObject fault = "object" // an object that is not understood
	faultPanic  fault = "panic"
	faultAnswer fault = "answer" // not delivered
)

type metrics struct {
	warnings     *prometheus.CounterVec
	hintsDropped prometheus.Counter
	faults       *prometheus.CounterVec
	duration     *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		warnings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "k8sconnect_warnings_total", Help: "Warnings sent to clients, by subject.",
		}, []string{"about"}),
		hintsDropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "k8sconnect_hints_dropped_total", Help: "Hints about owner changes, dropped for lack of room; the users behind those changes are not recorded.",
		}),
		faults: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "k8sconnect_admission_faults_total", Help: "Reviews that could not be evaluated, by reason. Their requests were allowed.",
		}, []string{"webhook", "fault"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "k8sconnect_admission_duration_seconds", Help: "How long it took to answer a review, from its first byte.",
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

func (m *metrics) fault(webhook string, f fault) { m.faults.WithLabelValues(webhook, string(f)).Inc() }

func (m *metrics) observe(webhook string, start time.Time) {
	m.duration.WithLabelValues(webhook).Observe(time.Since(start).Seconds())
}

// complaints is a rate-limited log, so that a client that sends garbage cannot flood the log.
// Metrics count all errors.
type complaints struct {
	log        logr.Logger
	rate       *rate.Limiter
	suppressed atomic.Int64
}

// Strays returns a rate-limited writer for the log of Go's HTTP server, which writes a line for
// each connection that does not speak TLS.
func Strays(log logr.Logger) io.Writer { return newComplaints(log) }

func (c *complaints) Write(line []byte) (int, error) {
	c.Error(nil, "a connection failed", "reason", strings.TrimSpace(string(line)))
	return len(line), nil
}

// newComplaints returns a log that allows ten lines at once and then one every ten seconds.
func newComplaints(log logr.Logger) *complaints {
	return &complaints{log: log, rate: rate.NewLimiter(rate.Every(10*time.Second), 10)}
}

// Error logs an error. If the rate is exceeded, it only counts the error, and the next line
// contains the count.
func (c *complaints) Error(err error, text string, keysAndValues ...any) {
	if !c.rate.Allow() {
		c.suppressed.Add(1)
		return
	}
	if n := c.suppressed.Swap(0); n > 0 {
		keysAndValues = append(keysAndValues, "suppressed", n)
	}
	c.log.Error(err, text, keysAndValues...)
}
