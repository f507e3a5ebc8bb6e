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

// defaultLease is the lease by which replicas elect the leader.
const defaultLease = "k8sconnect-webhook"

// defaultPort is the port to serve admission on.
const defaultPort = 9443

// Options of the webhook. The zero value serves admission on all addresses at
// port 9443, metrics at 8080, no health checks, and leads without asking.
type Options struct {
	// Host is the address to serve admission on; empty is all.
	Host string
	// Port to serve admission on; 0 is 9443.
	Port int
	// CertDir holds tls.crt and tls.key, which are read again when they change.
	CertDir string
	// ClientCA is a file of PEM certificates, one of which has to certify clients; empty
	// means any client. It is read again when it changes.
	ClientCA string
	// ClientNames are the allowed common names of their certificates; empty means any.
	ClientNames []string
	// Health is the address of /healthz and /readyz, such as ":8081". Empty or "0" is
	// none.
	Health string
	// Metrics is the address of /metrics; empty is ":8080", "0" is none.
	Metrics string
	// Namespace that the webhook runs in: of its lease, its checkpoint, its Secret
	// and the records of objects that have no namespace.
	Namespace string
	// Release is the Helm release of these objects, which are created again if they are
	// deleted; empty is none.
	Release string
	// LeaderElect makes the replicas agree on one that leads. Without it, each does.
	LeaderElect bool
	// Lease is the name of the lease; empty is k8sconnect-webhook.
	Lease string
	// ShutdownDelay is for how long after its context has ended the webhook still
	// answers, not ready any more, so that every API server has gone elsewhere
	// before connections are closed. 0 is not at all.
	ShutdownDelay time.Duration
	// Log takes what the webhook has to say. The zero value takes nothing.
	Log logr.Logger
	// Registry takes the metrics of the handlers. Nil is the one that Metrics
	// serves.
	Registry prometheus.Registerer
}

// Parts are the rooms beside admission. Each may be nil.
type Parts struct {
	// Hints go to the watcher, which learns what becomes of a write.
	Hints admission.HintSink
	// Live knows the kind and the owners of an object.
	Live func(uid types.UID) (kind string, owners ownership.Owners, resourceVersion string, ok bool)
	// Deprecations are warned of.
	Deprecations admission.Deprecations
	// Definitions hears of all custom kinds, now and later.
	Definitions Definitions
	// SelfSigned makes the certificate in Options.CertDir. Nil leaves that to another tool.
	SelfSigned *SelfSigned
	// Behind puts a handler behind a secret that is the last part of its path. Nil serves
	// every client.
	Behind func(http.Handler) http.Handler
	// Runners run on every replica until the webhook ends. If one of them fails,
	// the webhook does.
	Runners []Runner
	// Ready are asked for readiness: all have to say yes.
	Ready []func() bool
	// Lead is called once this replica leads. It leads until it ends: a replica that
	// loses the lease ends, and finishes its remaining work as the leader.
	Lead func()
}

// Runner works until the context ends, and then returns nil.
type Runner interface {
	Run(ctx context.Context) error
}
