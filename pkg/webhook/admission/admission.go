// Package admission answers reviews of an API server: it warns of takeovers and deprecated APIs,
// and always allows, even if evaluating panics. Start with [New]. It has no client, keeps no
// history, and decodes no more of an object than it needs.
package admission

import (
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// The paths that the API server calls, as the webhook configuration names them.
const (
	OwnershipPath   = "/ownership"
	DeprecationPath = "/deprecation"
	// ReachPath is for writes that test whether the API server's calls come back.
	ReachPath = "/reach"
)

// Options of admission. Registry is required.
type Options struct {
	// Hints go to the tracker, which sees whether a write succeeded; nil sends none.
	Hints HintSink
	// Live returns the kind, the owners and the version of an object; may be nil.
	Live func(uid types.UID) (kind string, owners ownership.Owners, resourceVersion string, ok bool)
	// Values sends values with hints, of the few paths of which a record keeps them.
	Values bool
	// Deprecations are warned of; may be nil.
	Deprecations Deprecations
	// Draining reports whether clients should reconnect elsewhere; nil means never.
	Draining func() bool
	// Log receives the reviews that cannot be answered. The zero value drops them.
	Log logr.Logger
	// Registry receives the metrics.
	Registry prometheus.Registerer
}

// New returns the handler of each path.
func New(opts Options) (map[string]http.Handler, error) {
	count, err := newMetrics(opts.Registry)
	if err != nil {
		return nil, err
	}
	draining := opts.Draining
	if draining == nil {
		draining = func() bool { return false }
	}
	log, room := newComplaints(opts.Log), &intake{}
	handlers := map[string]http.Handler{}
	for path, evaluate := range map[string]evaluator{
		OwnershipPath:   takings{hints: opts.Hints, live: opts.Live, deprecations: opts.Deprecations, count: count, values: opts.Values}.evaluate,
		DeprecationPath: notices{deprecations: opts.Deprecations}.evaluate,
		ReachPath:       echo,
	} {
		handlers[path] = &handler{name: path[1:], evaluate: evaluate, count: count, log: log, intake: room, draining: draining}
	}
	return handlers, nil
}
