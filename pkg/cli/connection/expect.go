package connection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// These flags make a run refuse the wrong cluster.
const (
	ExpectContext = "expect-context"
	ExpectCluster = "expect-cluster"
)

// guards returns the flags that environment variables may set too, because guards can only refuse.
func guards() []string { return []string{ExpectContext, ExpectCluster} }

func variable(flag string) string {
	return "KUBECTL_K8SCONNECT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (c *Connection) addGuards(flags *pflag.FlagSet) {
	flags.String(ExpectContext, "",
		"Refuse any context whose name does not match this pattern, such as 'prod-*'; can also be set with $"+variable(ExpectContext))
	flags.String(ExpectCluster, "",
		"Refuse any cluster whose kube-system namespace does not have this UID; can also be set with $"+variable(ExpectCluster))
}

// expectations returns all values of a guard. All of them must match, so that none overrides
// another.
func (c *Connection) expectations(flag string) []expectation {
	var all []expectation
	if f := c.flags.Lookup(flag); f.Changed {
		all = append(all, expectation{"--" + flag, f.Value.String()})
	}
	if value, set := os.LookupEnv(variable(flag)); set {
		all = append(all, expectation{variable(flag), value})
	}
	return append(all, c.expected[flag]...)
}

// ExpectContext adds an expected context (glob) and the place where it is set (from).
func (c *Connection) ExpectContext(from, glob string) { c.expect(ExpectContext, from, glob) }

// ExpectCluster adds an expected cluster (uid) and the place where it is set (from).
func (c *Connection) ExpectCluster(from, uid string) { c.expect(ExpectCluster, from, uid) }

func (c *Connection) expect(flag, from, value string) {
	if c.expected == nil {
		c.expected = map[string][]expectation{}
	}
	c.expected[flag] = append(c.expected[flag], expectation{from, value})
}

// ContextName returns the context in use; empty if there is none, as in a Pod.
func (c *Connection) ContextName() (string, error) {
	raw, err := c.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return "", c.explain(err)
	}
	return c.contextName(raw), nil
}

// checkGuards refuses invalid patterns, and empty guards, which usually come from unset variables.
func (c *Connection) checkGuards() error {
	var errs []error
	for _, flag := range guards() {
		for _, want := range c.expectations(flag) {
			if want.value == "" {
				errs = append(errs, fmt.Errorf("%s is empty and would not guard anything", want.from))
			}
		}
	}
	for _, want := range c.expectations(ExpectContext) {
		if !text.IsGlob(want.value) {
			errs = append(errs, fmt.Errorf("%s: not a pattern: it has an unclosed or empty bracket, or ends with a backslash", want))
		}
	}
	return errors.Join(errs...)
}

// ExpectedContext refuses an unexpected context. It reads only the kubeconfig.
func (c *Connection) ExpectedContext() error {
	wanted := c.expectations(ExpectContext)
	if len(wanted) == 0 {
		return nil
	}
	raw, err := c.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return c.explain(err)
	}
	name := c.contextName(raw)
	for _, want := range wanted {
		switch {
		case name == "":
			return object.Hinted("choose one with --context; without a kubeconfig, as in a Pod, use --"+ExpectCluster,
				"no context is in use, but %s expects one", want)
		case !text.Glob(want.value, name):
			return object.Hinted(contextHint(raw, want),
				"wrong context: %q is not what %s expects; nothing was sent to it", name, want)
		}
	}
	for _, f := range []string{"server", "cluster"} {
		if c.flags.Lookup(f).Changed {
			return object.Hinted("leave out --"+f+", or use --"+ExpectCluster+" alone",
				"--%s overrides the cluster of context %q, so the name of the context, which %s checks, does not identify the cluster", f, name, wanted[0])
		}
	}
	return nil
}

func contextHint(raw api.Config, want expectation) string {
	known := slices.Sorted(maps.Keys(raw.Contexts))
	known = slices.DeleteFunc(known, func(name string) bool { return !text.Glob(want.value, name) })
	if len(known) == 0 {
		return "no context in the kubeconfig matches"
	}
	return "choose a matching one with --context: " + strings.Join(known, ", ")
}

// Recognises reports whether Connect will check the identity of the cluster.
func (c *Connection) Recognises() bool {
	return len(c.expectations(ExpectCluster)) > 0 && !c.recognised
}

// expectedCluster refuses a cluster that is unexpected or cannot be identified. It sends the first
// request of the run.
func (c *Connection) expectedCluster(ctx context.Context, client *client.Client) error {
	if !c.Recognises() {
		return nil
	}
	wanted := c.expectations(ExpectCluster)
	const name = identifying
	uid, err := uidOf(ctx, client)
	switch {
	case apierrors.IsForbidden(err):
		return object.Hinted("the guard needs permission to get the namespace "+name+"; nothing else was sent",
			"cannot tell whether this is the cluster that %s expects: %w", wanted[0], err)
	case apierrors.IsNotFound(err):
		return object.Hinted("guard with --"+ExpectContext+" instead",
			"cannot tell whether this is the cluster that %s expects: it has no namespace %s", wanted[0], name)
	case err != nil:
		return fmt.Errorf("cannot tell whether this is the cluster that %s expects: %w", wanted[0], err)
	}
	for _, want := range wanted {
		if string(uid) != want.value {
			return object.Hinted("see which cluster this is: "+command.Kubectl("cluster-info"),
				"wrong cluster: its UID is %s, not what %s expects; nothing else was sent to it", uid, want)
		}
	}
	c.recognised, c.uid = true, uid
	return nil
}

// identifying is the namespace whose UID identifies a cluster.
const identifying = "kube-system"

func uidOf(ctx context.Context, server object.Getter) (types.UID, error) {
	kind := object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Resource: "namespaces"}
	live, err := server.Get(ctx, kind, object.Ref{GVK: kind.GVK, Name: identifying})
	if err != nil {
		return "", err
	}
	return live.GetUID(), nil
}

// Identify begins to read the identity of the cluster. The function that it returns waits for the
// result. An account that cannot read the identity gets a cluster without a UID; an error means that
// the server could not be asked.
func (c *Connection) Identify(ctx context.Context, server object.Getter) func() (event.Cluster, error) {
	found := event.Cluster{UID: c.uid}
	if config, err := c.config.ToRESTConfig(); err == nil {
		found.Server = withoutUser(config.Host)
	}
	if !c.flags.Lookup("server").Changed && !c.flags.Lookup("cluster").Changed {
		found.Context, _ = c.ContextName()
	}
	if found.UID != "" {
		return func() (event.Cluster, error) { return found, nil }
	}
	var failure error
	done := make(chan struct{})
	go func() {
		defer close(done)
		switch uid, err := uidOf(ctx, server); {
		case err == nil:
			found.UID = uid
		case apierrors.IsForbidden(err):
			found.Unknown = "you are not allowed to get the namespace " + identifying
		case apierrors.IsNotFound(err):
			found.Unknown = "there is no namespace " + identifying
		default:
			failure = fmt.Errorf("cannot tell which cluster this is: %w", err)
		}
	}()
	return func() (event.Cluster, error) {
		<-done
		return found, failure
	}
}

func withoutUser(host string) string {
	at, err := url.Parse(host)
	if err != nil || at.User == nil {
		return host
	}
	at.User = nil
	return at.String()
}
