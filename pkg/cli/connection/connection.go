// Package connection keeps the values of Secrets out of everything that a run writes and that
// is not an engine's event: answers of the server, logs of libraries, and stdout and
// stderr as a whole. It stores the values that it learns in a vault (package redact),
// which does the masking.
// Package connection takes a call of the plugin to a cluster: the flags that every verb
// takes, the kubeconfig, the guards that refuse an unexpected cluster, and the resulting
// client. Printed commands get these flags too, so that they can be pasted.
package connection

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
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

// RunID is the flag that names a run. It names and decides nothing, which is why the
// environment may set it too.
const RunID = "run-id"

func (c *Connection) addRun(flags *pflag.FlagSet) {
	flags.StringVar(&c.runID, RunID, "",
		"Name of the run in output, Audit-IDs, locks and Events, such as the ID of a CI job, the same for its retries; also $"+variable(RunID))
}

// givenRun is the id from the command line or the environment; empty if there is none.
func (c *Connection) givenRun() (id, from string) {
	if c.runID == "" && os.Getenv(variable(RunID)) != "" {
		return os.Getenv(variable(RunID)), variable(RunID)
	}
	return c.runID, "--" + RunID
}

// checkRun rejects an id that is not valid everywhere it has to appear.
func (c *Connection) checkRun() error {
	id, from := c.givenRun()
	switch {
	case id == "" && c.flags != nil && c.flags.Changed(RunID):
		return fmt.Errorf("%s is empty; is a variable not set?", from)
	case id != "" && !regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`).MatchString(id):
		return fmt.Errorf("%s=%q: at most 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit", from, id)
	}
	return nil
}

// NewRun returns the id of a run: the given one, or a fresh one.
func (c *Connection) NewRun() string {
	id, _ := c.givenRun()
	return cmp.Or(id, ulid.Make().String())
}

// Call distinguishes this process from others of the same run, such as retries: the run's
// id and a unique suffix. Requests are numbered below it. It is empty if there is no run.
func (c *Connection) Call() string {
	if id, _ := c.givenRun(); c.Run == "" || c.Run != id {
		return c.Run
	}
	return c.Run + "-" + c.Process()
}

// Process is a text that no other process has.
func (c *Connection) Process() string {
	if c.process == "" {
		id := ulid.Make().String()
		const random = 10 // characters, of five bits each
		c.process = id[len(id)-random:]
	}
	return c.process
}

// Kubeconfig returns the kubeconfig, as far as it can be read.
func (c *Connection) Kubeconfig() (api.Config, error) {
	return c.config.ToRawKubeConfigLoader().RawConfig()
}

// explain adds the available choices to an error of the kubeconfig.
func (c *Connection) explain(err error) error {
	if err == nil {
		return nil
	}
	raw, rawErr := c.config.ToRawKubeConfigLoader().RawConfig()
	if rawErr != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	for _, given := range []struct {
		flag, value string
		known       []string
	}{
		{"--context", c.contextName(raw), slices.Sorted(maps.Keys(raw.Contexts))},
		{"--cluster", *c.config.ClusterName, slices.Sorted(maps.Keys(raw.Clusters))},
		{"--user", *c.config.AuthInfoName, slices.Sorted(maps.Keys(raw.AuthInfos))},
	} {
		if given.value != "" && !slices.Contains(given.known, given.value) {
			return &object.HintedError{
				Err:    fmt.Errorf("kubeconfig: %w", err),
				Advice: given.flag + " can be: " + orNone(given.known),
			}
		}
	}
	return fmt.Errorf("kubeconfig: %w", err)
}

// contextName returns the context that is used: the flag's, else the kubeconfig's.
func (c *Connection) contextName(raw api.Config) string {
	if *c.config.Context != "" {
		return *c.config.Context
	}
	return raw.CurrentContext
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "nothing, the kubeconfig names none"
	}
	return strings.Join(names, ", ")
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
