// Package connection connects an invocation of the plugin to a cluster: flags, kubeconfig, guards
// against the wrong cluster, and the client. It also masks the values of Secrets in responses, logs
// and output. Start with [New] and [Connection.Connect].
package connection

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Connection holds the flags that every verb has.
type Connection struct {
	Verb      string
	Verbosity int
	Color     string
	// Vault learns the values of Secrets.
	Vault *redact.Vault
	// Run is the ID of the run; empty before the first request. RunReported means that the ID was
	// printed.
	Run         string
	RunReported bool
	// Warned counts the warnings from the server that were shown.
	Warned *atomic.Int64
	// Guard may refuse writes. It is passed to clients created after it is set. A nil Guard refuses
	// nothing.
	Guard transport.Guard

	runID   string
	process string
	sent    *atomic.Int64
	// opening is shared by all clients.
	opening *transport.Opening

	config        *genericclioptions.ConfigFlags
	serverTimeout time.Duration
	// outage overrides serverTimeout if it is longer.
	outage   time.Duration
	timeout  time.Duration
	flags    *pflag.FlagSet
	expected map[string][]expectation
	// recognised means that the cluster is the expected one. uid is its UID, if it has been read.
	recognised bool
	uid        types.UID
}

// New returns a connection with default flags.
func New(vault *redact.Vault) *Connection {
	config := genericclioptions.NewConfigFlags(true)
	if !filepath.IsAbs(*config.CacheDir) && os.Getenv("KUBECACHEDIR") == "" {
		// Without a home directory, kubectl's default is below the working directory, which is
		// usually a repository in CI.
		*config.CacheDir = ""
	}
	return &Connection{config: config, Vault: vault, Warned: new(atomic.Int64), sent: new(atomic.Int64), opening: new(transport.Opening)}
}

// Begin sets the log verbosity and returns a context that ends when --timeout expires.
func (c *Connection) Begin(ctx context.Context, stderr io.Writer) (context.Context, context.CancelFunc, error) {
	if err := Log(stderr, c.Vault, c.Verbosity); err != nil {
		return nil, nil, err
	}
	if c.timeout <= 0 {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, &OverError{c.timeout})
	return ctx, cancel, nil
}

// OverError reports that --timeout has expired.
type OverError struct{ timeout time.Duration }

func (e *OverError) Error() string {
	return fmt.Sprintf("the run timed out after %s (--timeout)", e.timeout)
}

type expectation struct{ from, value string }

func (e expectation) String() string { return e.from + "=" + text.ShellQuote(e.value) }

// RunID is the flag for the ID of a run. An environment variable may set it too, because the ID
// changes nothing in the cluster.
const RunID = "run-id"

func (c *Connection) addRun(flags *pflag.FlagSet) {
	flags.StringVar(&c.runID, RunID, "",
		"ID of the run, shown in output, Audit-IDs, locks and Events. All calls in a CI job and its retries can share one ID. Can also be set with $"+variable(RunID))
}

// givenRun returns the ID from the command line or the environment; empty if there is none.
func (c *Connection) givenRun() (id, from string) {
	if c.runID == "" && os.Getenv(variable(RunID)) != "" {
		return os.Getenv(variable(RunID)), variable(RunID)
	}
	return c.runID, "--" + RunID
}

// checkRun refuses an ID that is invalid in any of the places where it is used.
func (c *Connection) checkRun() error {
	id, from := c.givenRun()
	switch {
	case id == "" && c.flags != nil && c.flags.Changed(RunID):
		return fmt.Errorf("%s is empty; is a variable unset?", from)
	case id != "" && !regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`).MatchString(id):
		return fmt.Errorf("%s=%q: must be at most 63 letters, digits, dots, dashes and underscores, and begin and end with a letter or a digit", from, id)
	}
	return nil
}

// NewRun returns the given ID of the run, or a new one.
func (c *Connection) NewRun() string {
	id, _ := c.givenRun()
	return cmp.Or(id, ulid.Make().String())
}

// Call returns an ID that distinguishes this process from other processes of the same run, such as
// retries; empty without a run.
func (c *Connection) Call() string {
	if id, _ := c.givenRun(); c.Run == "" || c.Run != id {
		return c.Run
	}
	return c.Run + "-" + c.Process()
}

// Process returns a string that is unique to this process.
func (c *Connection) Process() string {
	if c.process == "" {
		id := ulid.Make().String()
		const random = 10 // five bits each
		c.process = id[len(id)-random:]
	}
	return c.process
}

// Kubeconfig returns the kubeconfig, or as much of it as can be read.
func (c *Connection) Kubeconfig() (api.Config, error) {
	return c.config.ToRawKubeConfigLoader().RawConfig()
}

func (c *Connection) explain(err error) error {
	if err == nil {
		return nil
	}
	raw, rawErr := c.config.ToRawKubeConfigLoader().RawConfig()
	if rawErr != nil {
		if file := c.encoded(); file != "" {
			return object.Hinted("decode it first: base64 -d "+text.ShellQuote(file)+" > kubeconfig", "kubeconfig: %s is base64", file)
		}
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
			return object.Hinted(given.flag+" can be: "+orNone(given.known),
				"kubeconfig: %w", err)
		}
	}
	return fmt.Errorf("kubeconfig: %w", err)
}

// encoded returns a kubeconfig whose content is base64: many CI secrets are.
func (c *Connection) encoded() string {
	access := c.config.ToRawKubeConfigLoader().ConfigAccess()
	files := access.GetLoadingPrecedence()
	if access.IsExplicitFile() {
		files = []string{access.GetExplicitFile()}
	}
	for _, file := range files {
		written, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(written)), ""))
		if err == nil && bytes.Contains(decoded, []byte("clusters")) {
			return file
		}
	}
	return ""
}

// contextName returns the context from the flag, or else from the kubeconfig.
func (c *Connection) contextName(raw api.Config) string {
	if *c.config.Context != "" {
		return *c.config.Context
	}
	return raw.CurrentContext
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "(none in the kubeconfig)"
	}
	return strings.Join(names, ", ")
}

// Namespace returns the namespace for objects without one, and whether the user set it with -n.
func (c *Connection) Namespace() (name string, enforced bool, err error) {
	name, enforced, err = c.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return name, enforced, c.explain(err)
	}
	// The name becomes part of the request path, where ".." would select all namespaces.
	if faults := content.IsPathSegmentName(name); len(faults) > 0 {
		return name, enforced, fmt.Errorf("%q: a namespace %s", name, faults[0])
	}
	return name, enforced, nil
}
