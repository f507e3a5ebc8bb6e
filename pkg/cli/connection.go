package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/mask"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// connection is the flags that every verb takes: which cluster, as whom, and
// for how long.
type connection struct {
	config        *genericclioptions.ConfigFlags
	serverTimeout time.Duration
	timeout       time.Duration
	// verb is what the user called.
	verb      string
	verbosity int
	color     string
	// flags are those of every verb, as they were typed.
	flags *pflag.FlagSet
	// vault learns the values of Secrets as they come by.
	vault *redact.Vault
	// run is the id under which requests are sent; empty until there are any. runTold:
	// it was printed.
	run     string
	runTold bool
	// warned counts the server's warnings that were told, of all clients of the run.
	warned *atomic.Int64
	// ended returns why the run is over, nil as long as it is not; nil before it begins.
	ended func() error
	// recognised: this is the cluster that was expected.
	recognised bool
}

func newConnection(vault *redact.Vault) *connection {
	config := genericclioptions.NewConfigFlags(true)
	if !filepath.IsAbs(*config.CacheDir) && os.Getenv("KUBECACHEDIR") == "" {
		// Without a home, kubectl's default is below the working folder: most often a
		// repository, in a pipeline. Nobody looks for it there, and it is committed.
		*config.CacheDir = ""
	}
	return &connection{config: config, vault: vault, warned: new(atomic.Int64)}
}

func (c *connection) addFlags(flags *pflag.FlagSet) {
	c.config.AddFlags(flags)
	c.flags = flags
	flags.Lookup("namespace").Usage = "Namespace of objects that name none; of the others it has to be the same"
	flags.Lookup("context").Usage = "Context of the kubeconfig to use"
	flags.Lookup("kubeconfig").Usage = "Path of the kubeconfig"
	flags.DurationVar(&c.serverTimeout, "server-timeout", 30*time.Second,
		"How long to keep trying while the API server is not there; 10m survives a cluster that is still starting")
	flags.DurationVar(&c.timeout, "timeout", 0, "How long the whole run may take; 0 is as long as it needs")
	c.addGuards(flags)
	flags.IntVarP(&c.verbosity, "v", "v", 0, "Log verbosity; 6 shows each request")
	flags.StringVar(&c.color, "color", "auto", "When to use colour: auto, always or never")
}

// commonFlags are those that help explains with every command.
func commonFlags() []string {
	return []string{"namespace", "context", "kubeconfig", expectContextFlag, expectClusterFlag, "server-timeout", "timeout", "color", "v"}
}

// check finds fault with flags whose values alone are wrong.
func (c *connection) check() error {
	var errs []error
	if c.timeout < 0 {
		errs = append(errs, errors.New("--timeout must not be negative"))
	}
	if c.serverTimeout < 0 {
		errs = append(errs, errors.New("--server-timeout must not be negative"))
	}
	return errors.Join(append(errs, c.checkGuards())...)
}

// begin prepares what every verb needs before it works: log verbosity and the
// bound on the whole run.
func (c *connection) begin(ctx context.Context, streams genericiooptions.IOStreams) (context.Context, context.CancelFunc, error) {
	if err := mask.Log(streams.ErrOut, c.vault, c.verbosity); err != nil {
		return nil, nil, err
	}
	var cancel context.CancelFunc
	if c.timeout == 0 {
		ctx, cancel = context.WithCancel(ctx)
	} else {
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout, &overError{c.timeout})
	}
	c.ended = func() error { return context.Cause(ctx) }
	return ctx, cancel, nil
}

// over returns why the run is over, nil as long as it is not.
func (c *connection) over() error {
	if c.ended == nil {
		return nil
	}
	return c.ended()
}

// overError says that the time of the whole run is over.
type overError struct{ timeout time.Duration }

func (e *overError) Error() string {
	return fmt.Sprintf("the run's --timeout of %s is over", e.timeout)
}

// namespace returns the namespace for objects that name none, and whether the
// user asked for it with -n.
func (c *connection) namespace() (name string, enforced bool, err error) {
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

// newRun returns a fresh id for one run.
func newRun() string { return ulid.Make().String() }

// connect makes the client of a run; what it has to say while it works goes to
// emit. It has seen by then that the cluster is the one that was expected.
func (c *connection) connect(ctx context.Context, run string, concurrency int, emit func(event.Event)) (*cluster.Client, error) {
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	c.run = run
	emit(event.Preparing{Text: "asking the API server"})
	base := request.BasePath(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return mask.Transport(next, c.vault, base)
	})
	client, err := cluster.New(cluster.Options{
		REST:          config,
		CacheDir:      *c.config.CacheDir,
		ServerTimeout: c.serverTimeout,
		Concurrency:   concurrency,
		Run:           run,
		OnWarning: func(ref object.Ref, text string) {
			c.warned.Add(1)
			emit(event.Warned{Ref: ref, Text: text})
		},
		OnRetry: func(ref object.Ref, err error, in, left time.Duration) {
			emit(event.Retrying{Ref: ref, Err: redact.Refusal(ref, err), In: in, Left: left, Of: c.serverTimeout})
		},
		OnStall: func(ref object.Ref, since time.Time, within time.Duration) {
			emit(event.Waiting{Ref: ref, For: "an answer; the API server itself is well", Since: since, Within: within})
		},
	})
	if err != nil {
		return nil, err
	}
	return client, c.expectedCluster(ctx, client)
}
