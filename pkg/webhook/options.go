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

// defaultLease is the Lease by which replicas elect the leader.
const defaultLease = "k8sconnect-webhook"

// defaultPort is the port for admission.
const defaultPort = 9443

// Options of the webhook. The zero value serves admission on all addresses at port 9443, metrics at
// 8080, no health checks, and leads without an election.
type Options struct {
	// Host is the address for admission; empty means all.
	Host string
	// Port is the port for admission; 0 means 9443.
	Port int
	// CertDir holds tls.crt and tls.key, which are read again when they change.
	CertDir string
	// ClientCA is a file of PEM certificates, one of which must certify clients; empty means any
	// client. It is read again when it changes.
	ClientCA string
	// ClientNames are the allowed common names of their certificates; empty means any.
	ClientNames []string
	// Health is the address of /healthz and /readyz, such as ":8081". Empty or "0" means none.
	Health string
	// Metrics is the address of /metrics; empty means ":8080", "0" none.
	Metrics string
	// Namespace is the webhook's: of its Lease, its checkpoint, its Secret and the records of
	// cluster-scoped objects.
	Namespace string
	// Release is the Helm release of these objects, which are recreated if they are deleted; empty
	// means none.
	Release string
	// RecordValues records values of a few paths, see [ownership.ValuesOf].
	RecordValues bool
	// LeaderElect makes the replicas elect a leader. Without it, each leads.
	LeaderElect bool
	// Lease is the name of the Lease; empty means k8sconnect-webhook.
	Lease string
	// ShutdownDelay is how long the webhook still answers after its context has ended, no longer
	// ready, so that every API server has gone elsewhere before connections are closed.
	ShutdownDelay time.Duration
	// Log receives the webhook's log. The zero value drops it.
	Log logr.Logger
	// Registry receives the metrics of the handlers. Nil means the one that Metrics serves.
	Registry prometheus.Registerer
}

// Parts are the parts besides admission. Each may be nil.
type Parts struct {
	// Hints go to the tracker, which sees whether a write succeeded.
	Hints admission.HintSink
	// Live knows the kind and the owners of an object.
	Live func(uid types.UID) (kind string, owners ownership.Owners, resourceVersion string, ok bool)
	// Deprecations are warned of.
	Deprecations admission.Deprecations
	// Definitions receives all CRDs, now and later.
	Definitions Definitions
	// SelfSigned makes the certificate in Options.CertDir. Nil leaves that to another tool.
	SelfSigned *SelfSigned
	// Behind puts a handler behind a secret that is the last part of its path. Nil serves every
	// client.
	Behind func(http.Handler) http.Handler
	// Runners run on every replica until the webhook ends. If one of them fails, the webhook does.
	Runners []Runner
	// Ready are called for readiness: all must return true.
	Ready []func() bool
	// Lead is called once this replica leads. It leads until it ends: a replica that loses the
	// Lease ends, and finishes its remaining work first.
	Lead func()
}

// Runner works until the context ends, and then returns nil.
type Runner interface {
	Run(ctx context.Context) error
}
