package connection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the logins that kubectl knows, such as auth-provider oidc
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Connect creates the client of a run, and checks that the cluster is the expected one. A
// concurrency of 0 leaves the limit to the server.
func (c *Connection) Connect(ctx context.Context, run string, concurrency int, emit func(event.Event)) (*client.Client, error) {
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	c.Run = run
	emit(event.Preparing{Text: "contacting the API server"})
	base := transport.BasePath(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return Transport(next, c.Vault, base)
	})
	client, err := client.New(client.Options{
		REST:          config,
		CacheDir:      *c.config.CacheDir,
		ServerTimeout: c.serverTimeout,
		Outage:        c.outage,
		Concurrency:   concurrency,
		Run:           c.Call(),
		Sent:          c.sent,
		Guard:         c.Guard,
		Opening:       c.opening,
		OnWarning: func(ref object.Ref, text string) {
			c.Warned.Add(1)
			emit(event.Warned{Ref: ref, Text: text})
		},
		OnRetry: func(ref object.Ref, err error, in, left time.Duration) {
			of := max(c.serverTimeout, c.outage)
			if transport.OfWebhook(err) {
				of = c.serverTimeout
			}
			emit(event.Retrying{Ref: ref, Err: redact.Refusal(ref, err), In: in, Left: left, Of: of})
		},
		OnReachable: func() { emit(event.Reachable{}) },
		OnStall: func(ref object.Ref, since time.Time, within time.Duration, why error) {
			state := "the API server itself is healthy"
			if why != nil {
				state = why.Error()
			}
			emit(event.Waiting{Ref: ref, For: "a response; " + state, Since: since, Within: within})
		},
		Credentials: credentials(config),
		OnCredentials: func(since time.Time) {
			emit(event.Waiting{For: "credentials from " + credentials(config), Since: since})
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

// credentials returns the credential program in the kubeconfig; empty if that program may prompt
// the user (by client-go's rules).
func credentials(config *rest.Config) string {
	exec := config.ExecProvider
	if exec == nil || exec.InteractiveMode != clientcmdapi.NeverExecInteractiveMode && term.IsTerminal(int(os.Stdin.Fd())) {
		return ""
	}
	return exec.Command
}

// OpenEarly starts to open the connection. It returns false if opening needs more than TCP and TLS,
// or if the configuration has an error, which Connect will report.
func (c *Connection) OpenEarly() bool {
	config, err := c.restConfig()
	return err == nil && c.opening.OpenEarly(config)
}

// Quick returns a client that does not wait for an unreachable server.
func (c *Connection) Quick(ctx context.Context) (*client.Client, error) {
	return c.quick(ctx, func(*rest.Config) {})
}

// ForCompletion is [Connection.Quick] with a credential program that cannot ask for a password: while Tab
// waits, the question would appear in the line that is being typed.
func (c *Connection) ForCompletion(ctx context.Context) (*client.Client, error) {
	return c.quick(ctx, func(config *rest.Config) {
		if config.ExecProvider != nil {
			config.ExecProvider = config.ExecProvider.DeepCopy()
			config.ExecProvider.InteractiveMode = clientcmdapi.NeverExecInteractiveMode
		}
	})
}

func (c *Connection) quick(ctx context.Context, adjust func(*rest.Config)) (*client.Client, error) {
	if err := c.checkGuards(); err != nil {
		return nil, err
	}
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	adjust(config)
	client, err := client.New(client.Options{REST: config, CacheDir: *c.config.CacheDir, Run: c.Call(), Sent: c.sent, Guard: c.Guard, Opening: c.opening})
	if err != nil {
		return nil, err
	}
	return client, c.expectedCluster(ctx, client)
}

// Patient returns a copy of the connection for a run that must survive an outage of this duration.
// A webhook that does not respond is not an outage.
func (c *Connection) Patient(outage time.Duration) *Connection {
	patient := *c
	patient.outage = outage
	return &patient
}

// lacks describes a missing permission to list or watch, and its consequence.
func lacks(kind object.Kind, namespace, verb string) string {
	what := kind.GVR().GroupResource().String()
	if kind.Namespaced && namespace != "" {
		what += " in namespace " + namespace
	}
	how := "read one by one every few seconds"
	if verb == "watch" {
		how = "listed every few seconds"
	}
	return "you are not allowed to " + verb + " " + what + ": they are " + how + ", so changes are noticed late"
}

func (c *Connection) restConfig() (*rest.Config, error) {
	if err := c.ExpectedContext(); err != nil {
		return nil, err
	}
	config, err := c.config.ToRESTConfig()
	if err != nil {
		return nil, c.explain(err)
	}
	// Without any configuration, client-go uses a port on which API servers no longer listen.
	if raw, err := c.config.ToRawKubeConfigLoader().RawConfig(); err == nil && len(raw.Clusters) == 0 &&
		*c.config.APIServer == "" && config.Host == clientcmd.ClusterDefaults.Server {
		if own := inPod(config); own != nil {
			config = own
		} else {
			return nil, &object.HintedError{
				Err: errors.New("no cluster is configured: no kubeconfig found"),
				Advice: "set one with --kubeconfig or KUBECONFIG; searched: " +
					strings.Join(c.config.ToRawKubeConfigLoader().ConfigAccess().GetLoadingPrecedence(), ", "),
			}
		}
	}
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent(build.This().Version, c.Verb)
	return config, checkAddress(config)
}

// inPod returns the configuration of the Pod in which the plugin runs, with the flags in given; nil
// outside a Pod. client-go leaves out that configuration if there are flags (kubernetes/kubernetes#122532).
func inPod(given *rest.Config) *rest.Config {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil
	}
	config.Impersonate, config.Timeout, config.Proxy = given.Impersonate, given.Timeout, given.Proxy
	return config
}

// userAgent identifies the plugin and the verb in the server's audit log.
func userAgent(version, verb string) string {
	if verb == cobra.ShellCompRequestCmd || verb == cobra.ShellCompNoDescRequestCmd {
		verb = "completion"
	}
	return fmt.Sprintf("kubectl-k8sconnect/%s (%s/%s) %s", strings.Trim(version, "()"), runtime.GOOS, runtime.GOARCH, verb)
}

// checkAddress refuses an address to which no request can be sent. The error from net/http would
// suggest no remedy.
func checkAddress(config *rest.Config) error {
	url, _, err := rest.DefaultServerUrlFor(config)
	if err == nil && (url.Scheme == "https" || url.Scheme == "http") {
		return nil
	}
	return object.Hinted("see: "+command.Kubectl("config", "view")+" --minify; correct it with kubectl config set-cluster NAME --server=https://HOST:PORT",
		"kubeconfig: the server's address %q is not an https URL", config.Host)
}

// Transport learns the values of Secrets from responses before other code reads them. It masks
// errors and warnings about a Secret, or withholds them if it cannot read that Secret. base is the
// prefix of every path on the server.
func Transport(next http.RoundTripper, vault *redact.Vault, base string) http.RoundTripper {
	return &maskingTransport{next: next, vault: vault, base: base}
}

type maskingTransport struct {
	next  http.RoundTripper
	vault *redact.Vault
	base  string
}

// WrappedRoundTripper gives apimachinery access to the inner transport.
func (t *maskingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *maskingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !isAboutSecrets(t.base, req.URL.Path) {
		return t.next.RoundTrip(req)
	}
	sent := sentObject(req)
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	failed := resp.StatusCode >= http.StatusBadRequest
	if !failed && len(resp.Header.Values("Warning")) == 0 {
		resp.Body = &learningBody{ReadCloser: resp.Body, vault: t.vault, stream: req.URL.Query().Has("watch")}
		return resp, nil
	}
	say := t.censor(req, resp.StatusCode, sent)
	maskWarnings(resp.Header, say)
	if failed {
		return withMaskedBody(resp, say)
	}
	resp.Body = &learningBody{ReadCloser: resp.Body, vault: t.vault}
	return resp, nil
}

// isAboutSecrets reports whether a request is about Secrets of the core group. For a redirected
// request, whose base is unknown, it reports whether the request may be about them.
func isAboutSecrets(base, path string) bool {
	if below, ours := strings.CutPrefix(path, base+"/"); ours {
		version, found := strings.CutPrefix(below, "api/")
		return found && isSecretsPath(version)
	}
	for rest, found := path, true; found; {
		if _, rest, found = strings.Cut(rest, "/api/"); found && isSecretsPath(rest) {
			return true
		}
		rest = "/" + rest
	}
	return false
}

// isSecretsPath reports whether a path is about Secrets. The path must begin with the version of
// the core group.
func isSecretsPath(path string) bool {
	parts := strings.Split(path, "/")[1:]
	if len(parts) > 0 && parts[0] == "watch" {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return len(parts) > 0 && parts[0] == "secrets"
}
