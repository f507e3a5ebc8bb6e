package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// completeTargets completes TYPE, and the names behind it in either form, for
// verbs that take them. It does not wait for a server for long: somebody's shell
// waits.
func (c *connection) completeTargets(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	if named := cmd.Flags().Lookup("filename"); named != nil && named.Changed {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, err := c.targetWords(ctx, args, toComplete)
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func (c *connection) targetWords(ctx context.Context, args []string, toComplete string) ([]string, error) {
	client, err := c.quickClient(ctx)
	if err != nil {
		return nil, err
	}
	typ, _, pair := strings.Cut(toComplete, "/")
	switch {
	case len(args) > 0 && !strings.Contains(args[0], "/"):
		names, err := c.names(ctx, client, args[0])
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args[1:], name) }), err
	case pair:
		names, err := c.names(ctx, client, typ)
		for i, name := range names {
			names[i] = typ + "/" + name
		}
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), err
	default:
		return client.TypeNames(ctx)
	}
}

// names returns the names of a type's objects in the namespace.
func (c *connection) names(ctx context.Context, client *cluster.Client, typ string) ([]string, error) {
	namespace, _, err := c.namespace()
	if err != nil {
		return nil, err
	}
	kind, err := client.Resource(ctx, typ)
	if err != nil {
		return nil, err
	}
	return client.Names(ctx, kind, object.Selection{Namespace: scope(kind, namespace)})
}

// quickClient is a client that does not wait for a server that is away.
func (c *connection) quickClient(ctx context.Context) (*cluster.Client, error) {
	if err := c.checkGuards(); err != nil {
		return nil, err
	}
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	client, err := cluster.New(cluster.Options{REST: config, CacheDir: *c.config.CacheDir})
	if err != nil {
		return nil, err
	}
	return client, c.expectedCluster(ctx, client)
}
