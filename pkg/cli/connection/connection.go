package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/mask"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Connection holds the flags that every verb takes: which cluster, as which user, and for
// how long.
type Connection struct {
	// Verb is the verb that the user called.
	Verb string
	// Verbosity and Color say how much to print, and whether in colour.
	Verbosity int
	Color     string
	// Vault learns the values of Secrets as they come by.
	Vault *redact.Vault
	// Run is the id under which requests are sent; empty until there are any. RunTold:
	// it was printed.
	Run     string
	RunTold bool
	// Warned counts the server's warnings that were shown, for all clients of the run.
	Warned *atomic.Int64
	// Guard decides whether a write may leave, of all clients that are made from then on;
	// nil lets all of them pass.
	Guard request.Guard

	runID   string
	process string
	// sent counts the requests of all clients.
	sent *atomic.Int64

	config        *genericclioptions.ConfigFlags
	serverTimeout time.Duration
	timeout       time.Duration
	// flags are those of every verb, as they were typed.
	flags *pflag.FlagSet
	// ended returns why the run is over, and nil while it is not; it is nil before the
	// run begins.
	ended func() error
	// expected are what guards expect beside their flags and variables.
	expected map[string][]expectation
	// recognised: this is the cluster that was expected.
	recognised bool
}

// New returns a connection whose flags have their defaults.
func New(vault *redact.Vault) *Connection {
	config := genericclioptions.NewConfigFlags(true)
	if !filepath.IsAbs(*config.CacheDir) && os.Getenv("KUBECACHEDIR") == "" {
		// Without a home, kubectl's default is below the working folder: most often a
		// repository, in a pipeline, where the cache goes unnoticed and is committed.
		*config.CacheDir = ""
	}
	return &Connection{config: config, Vault: vault, Warned: new(atomic.Int64), sent: new(atomic.Int64)}
}

// AddFlags adds the flags to those of a command; they are read from there.
func (c *Connection) AddFlags(flags *pflag.FlagSet) {
	c.config.AddFlags(flags)
	c.flags = flags
	flags.Lookup("namespace").Usage = "Namespace of objects that name none; the others have to agree"
	flags.Lookup("context").Usage = "Context of the kubeconfig to use"
	flags.Lookup("kubeconfig").Usage = "Path of the kubeconfig"
	flags.DurationVar(&c.serverTimeout, "server-timeout", 30*time.Second,
		"How long to keep trying while the API server is unavailable; 10m outlasts the start of a cluster")
	flags.DurationVar(&c.timeout, "timeout", 0, "How long the whole run may take; 0 is unlimited")
	c.addRun(flags)
	c.addGuards(flags)
	flags.IntVarP(&c.Verbosity, "v", "v", 0, "Log verbosity; 6 shows each request")
	flags.StringVar(&c.Color, "color", "auto", "When to use colour: auto, always or never")
}

// CommonFlags are those that help explains with every command.
func CommonFlags() []string {
	return []string{"namespace", "context", "kubeconfig", ExpectContext, ExpectCluster, "server-timeout", "timeout", RunID, "color", "v"}
}

// Check rejects flags with invalid values.
func (c *Connection) Check() error {
	var errs []error
	if c.timeout < 0 {
		errs = append(errs, errors.New("--timeout must not be negative"))
	}
	if c.serverTimeout < 0 {
		errs = append(errs, errors.New("--server-timeout must not be negative"))
	}
	return errors.Join(append(errs, c.checkRun(), c.checkGuards())...)
}

// Begin prepares what every verb needs before it works: log verbosity and the
// bound on the whole run.
func (c *Connection) Begin(ctx context.Context, stderr io.Writer) (context.Context, context.CancelFunc, error) {
	if err := mask.Log(stderr, c.Vault, c.Verbosity); err != nil {
		return nil, nil, err
	}
	var cancel context.CancelFunc
	if c.timeout == 0 {
		ctx, cancel = context.WithCancel(ctx)
	} else {
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout, &OverError{c.timeout})
	}
	c.ended = func() error { return context.Cause(ctx) }
	return ctx, cancel, nil
}

// Over returns why the run is over, and nil while it is not.
func (c *Connection) Over() error {
	if c.ended == nil {
		return nil
	}
	return c.ended()
}

// OverError says that the time of the whole run is over.
type OverError struct{ timeout time.Duration }

func (e *OverError) Error() string {
	return fmt.Sprintf("the run timed out after %s (--timeout)", e.timeout)
}

// Namespace returns the namespace for objects that name none, and whether the
// user asked for it with -n.
func (c *Connection) Namespace() (name string, enforced bool, err error) {
	name, enforced, err = c.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return name, enforced, c.explain(err)
	}
	// It becomes part of the requests' paths: "..", there, is all namespaces.
	if faults := content.IsPathSegmentName(name); len(faults) > 0 {
		return name, enforced, fmt.Errorf("%q: a namespace %s", name, faults[0])
	}
	return name, enforced, nil
}

// Connect creates the client of a run, which reports its events to emit. It has verified
// that the cluster is the expected one.
func (c *Connection) Connect(ctx context.Context, run string, concurrency int, emit func(event.Event)) (*cluster.Client, error) {
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	c.Run = run
	emit(event.Preparing{Text: "asking the API server"})
	base := request.BasePath(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return mask.Transport(next, c.Vault, base)
	})
	client, err := cluster.New(cluster.Options{
		REST:          config,
		CacheDir:      *c.config.CacheDir,
		ServerTimeout: c.serverTimeout,
		Concurrency:   concurrency,
		Run:           c.Call(),
		Sent:          c.sent,
		Guard:         c.Guard,
		OnWarning: func(ref object.Ref, text string) {
			c.Warned.Add(1)
			emit(event.Warned{Ref: ref, Text: text})
		},
		OnRetry: func(ref object.Ref, err error, in, left time.Duration) {
			emit(event.Retrying{Ref: ref, Err: redact.Refusal(ref, err), In: in, Left: left, Of: c.serverTimeout})
		},
		OnStall: func(ref object.Ref, since time.Time, within time.Duration) {
			emit(event.Waiting{Ref: ref, For: "an answer; the API server itself is healthy", Since: since, Within: within})
		},
		OnPolling: func(kind object.Kind, namespace, verb string) {
			emit(event.Warned{Text: lacks(kind, namespace, verb)})
		},
	})
	if err != nil {
		return nil, err
	}
	return client, c.expectedCluster(ctx, client)
}

// lacks says that we may not list or watch objects, and what follows from that.
func lacks(kind object.Kind, namespace, verb string) string {
	what := kind.GVR().GroupResource().String()
	if kind.Namespaced && namespace != "" {
		what += " in namespace " + namespace
	}
	how := "read one by one every few seconds"
	if verb == "watch" {
		how = "listed every few seconds"
	}
	return "you may not " + verb + " " + what + ": they are " + how + ", so changes are seen late"
}

// Patient returns the same connection for a run that outlives an outage of that length.
func (c *Connection) Patient(outage time.Duration) *Connection {
	patient := *c
	patient.serverTimeout = max(c.serverTimeout, outage)
	return &patient
}

// Quick makes a client that does not wait for a server that is away.
func (c *Connection) Quick(ctx context.Context) (*cluster.Client, error) {
	if err := c.checkGuards(); err != nil {
		return nil, err
	}
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	client, err := cluster.New(cluster.Options{REST: config, CacheDir: *c.config.CacheDir, Run: c.Call(), Sent: c.sent, Guard: c.Guard})
	if err != nil {
		return nil, err
	}
	return client, c.expectedCluster(ctx, client)
}
