package connection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

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
