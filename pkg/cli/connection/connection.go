// Package connection takes a call of the plugin to a cluster: the flags that every verb
// takes, the kubeconfig, the guards that refuse an unexpected cluster, and the resulting
// client. Printed commands get these flags too, so that they can be pasted.
package connection

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
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
	Guard transport.Guard

	runID   string
	process string
	// sent counts the requests of all clients.
	sent *atomic.Int64
	// opening is the connection that they share.
	opening *transport.Opening

	config        *genericclioptions.ConfigFlags
	serverTimeout time.Duration
	// outage is how long the server may be away, if that is longer.
	outage  time.Duration
	timeout time.Duration
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
	return &Connection{config: config, Vault: vault, Warned: new(atomic.Int64), sent: new(atomic.Int64), opening: new(transport.Opening)}
}

// Begin prepares what every verb needs before it works: log verbosity and the
// bound on the whole run.
func (c *Connection) Begin(ctx context.Context, stderr io.Writer) (context.Context, context.CancelFunc, error) {
	if err := Log(stderr, c.Vault, c.Verbosity); err != nil {
		return nil, nil, err
	}
	var cancel context.CancelFunc
	if c.timeout <= 0 {
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

// expectation is one value of a guard, and its source.
type expectation struct{ from, value string }

func (e expectation) String() string { return e.from + "=" + text.ShellQuote(e.value) }
