package completion

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Sets completes the name of a set, for verbs with no other argument.
func Sets(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return Ask(cmd, words{c}.sets)
	}
}

func (c words) completeSets(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return Ask(cmd, c.sets)
}

// Ask returns the names as completions. It waits for them only as long as a person would.
func Ask(cmd *cobra.Command, names func(context.Context) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	found, err := names(ctx)
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// sets returns the names of all sets. If it returns an error, it also returns the names that it
// found before the error.
func (c words) sets(ctx context.Context) ([]string, error) {
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	all, err := store.All(ctx, client, namespace)
	names := make([]string, len(all))
	for i, set := range all {
		names[i] = store.Spelled(set.Record.Parent)
	}
	return names, err
}

// Inventories completes KIND/NAMESPACE/NAME of objects that list what a tool applies.
func Inventories(c *connection.Connection) cobra.CompletionFunc { return words{c}.completeInventories }

func (c words) completeInventories(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	typ, _, chosen := strings.Cut(toComplete, "/")
	if !chosen {
		var kinds []string
		for _, kind := range inventory.Kinds() {
			kinds = append(kinds, kind+"/")
		}
		return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return Ask(cmd, func(ctx context.Context) ([]string, error) { return c.inventories(ctx, typ) })
}

func (c words) inventories(ctx context.Context, typ string) ([]string, error) {
	of, err := inventory.Parse(typ + "/any/any")
	if err != nil {
		return nil, err
	}
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return nil, err
	}
	kind, err := client.Preferred(ctx, of.Kind())
	if err != nil {
		return nil, err
	}
	var names []string
	err = client.Metadata(ctx, kind, object.Selection{}, func(u *unstructured.Unstructured) {
		names = append(names, typ+"/"+u.GetNamespace()+"/"+u.GetName())
	})
	slices.Sort(names)
	return slices.Compact(names), err
}
