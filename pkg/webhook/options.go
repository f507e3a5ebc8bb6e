package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
)

const defaultLease = "k8sconnect-webhook"

const defaultPort = 9443

// Options are the options of the webhook. CertDir is required. By default, the webhook serves
// admission on port 9443 and metrics on port 8080, serves no health checks, and leads without an
// election.
type Options struct {
	// Host and Port are the address for admission requests; an empty Host means all addresses.
	Host string
	Port int
	// CertDir contains tls.crt and tls.key, which are read again when they change.
	CertDir string
	// ClientCA is a PEM file of the authorities that sign client certificates; if it is empty, any
	// client is admitted.
	ClientCA string
	// ClientNames are the allowed common names of client certificates; if the list is empty, any
	// name is allowed.
	ClientNames []string
	// Health is the address of /healthz and /readyz, such as ":8081"; empty or "0" disables them.
	Health string
	// Metrics is the address of /metrics; empty means ":8080", "0" disables it.
	Metrics string
	// Namespace is the namespace of the webhook's Lease, checkpoint and Secret, and of the records
	// of cluster-scoped objects.
	Namespace string
	// Release is the Helm release whose labels are set on recreated objects; empty if there is
	// none.
	Release string
	// RecordValues records the values at a few paths; see [ownership.ValuesOf].
	RecordValues bool
	// LeaderElect makes the replicas elect a leader. Without an election, each replica leads.
	LeaderElect bool
	// Lease is the name of the Lease; empty means k8sconnect-webhook.
	Lease string
	// ShutdownDelay is how long the webhook continues to serve after its context has ended; see
	// [Server.Start].
	ShutdownDelay time.Duration
	Log           logr.Logger
	// Registry receives the metrics; nil means the registry that Metrics serves.
	Registry prometheus.Registerer
}

// Parts are the parts of the webhook other than admission. Each may be nil.
type Parts struct {
	Hints        admission.HintSink
	Deletions    admission.DeletionSink // nil if they are not recorded
	Rollouts     admission.RolloutSink  // nil if they are not recorded
	Live         func(uid types.UID) (kind string, owners ownership.Owners, resourceVersion string, ok bool)
	Deprecations admission.Deprecations
	Definitions  Definitions
	// SelfSigned is nil if another tool creates the certificate.
	SelfSigned *SelfSigned
	// Behind limits a handler to clients whose path ends in a secret; nil serves every client.
	Behind func(http.Handler) http.Handler
	// Runners run on every replica until the webhook ends. If one of them fails, the webhook ends.
	Runners []Runner
	Ready   []func() bool
	// Lead is called once, when this replica becomes the leader. A leader that loses the Lease
	// finishes its remaining work and ends.
	Lead func()
}

// Runner runs until the context ends, and then returns nil.
type Runner interface {
	Run(ctx context.Context) error
}
