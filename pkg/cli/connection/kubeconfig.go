package connection

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Kubeconfig returns the kubeconfig, as far as it can be read.
func (c *Connection) Kubeconfig() (api.Config, error) {
	return c.config.ToRawKubeConfigLoader().RawConfig()
}

// restConfig returns the server's address and our credentials.
func (c *Connection) restConfig() (*rest.Config, error) {
	if err := c.ExpectedContext(); err != nil {
		return nil, err
	}
	config, err := c.config.ToRESTConfig()
	if err != nil {
		return nil, c.explain(err)
	}
	// Without any configuration, client-go falls back to a port on which no API server
	// has listened for years.
	if raw, err := c.config.ToRawKubeConfigLoader().RawConfig(); err == nil && len(raw.Clusters) == 0 &&
		*c.config.APIServer == "" && config.Host == clientcmd.ClusterDefaults.Server {
		return nil, &object.HintedError{
			Err: errors.New("no cluster is configured: no kubeconfig was found"),
			Advice: "name one with --kubeconfig or KUBECONFIG; looked at: " +
				strings.Join(c.config.ToRawKubeConfigLoader().ConfigAccess().GetLoadingPrecedence(), ", "),
		}
	}
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent(build.This().Version, c.Verb)
	return config, checkAddress(config)
}

// userAgent identifies us, and the verb, in the server's audit log.
func userAgent(version, verb string) string {
	if verb == cobra.ShellCompRequestCmd || verb == cobra.ShellCompNoDescRequestCmd {
		verb = "completion"
	}
	return fmt.Sprintf("kubectl-k8sconnect/%s (%s/%s) %s", strings.Trim(version, "()"), runtime.GOOS, runtime.GOARCH, verb)
}

// checkAddress rejects a server address that no request can be sent to; net/http's own
// error names neither the kubeconfig nor the remedy.
func checkAddress(config *rest.Config) error {
	url, _, err := rest.DefaultServerUrlFor(config)
	if err == nil && (url.Scheme == "https" || url.Scheme == "http") {
		return nil
	}
	return &object.HintedError{
		Err:    fmt.Errorf("kubeconfig: the server's address %q is not an https URL", config.Host),
		Advice: "see: " + command.Kubectl("config", "view") + " --minify; correct it with kubectl config set-cluster NAME --server=https://HOST:PORT",
	}
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
