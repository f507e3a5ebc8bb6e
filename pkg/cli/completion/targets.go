package completion

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Targets completes TYPE, and the names behind it in either form, for verbs that take them.
func Targets(c *connection.Connection) cobra.CompletionFunc { return words{c}.completeTargets }

// completeTargets waits for a server only briefly: the user's shell waits.
func (c words) completeTargets(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
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

func (c words) targetWords(ctx context.Context, args []string, toComplete string) ([]string, error) {
	client, err := c.Quick(ctx)
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
func (c words) names(ctx context.Context, client *client.Client, typ string) ([]string, error) {
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	kind, err := client.Resource(ctx, typ)
	if err != nil {
		return nil, err
	}
	return client.Names(ctx, kind, object.Selection{Namespace: target.Scope(kind, namespace)})
}
