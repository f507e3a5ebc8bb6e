package completion

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Sets completes the name of a set, for verbs with no other argument.
func Sets(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words{c}.ask(cmd, words{c}.sets)
	}
}

// Runs completes the ID of a run to which the user can roll back the set in the arguments.
func Runs(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words{c}.ask(cmd, func(ctx context.Context) ([]string, error) { return words{c}.runs(ctx, args[0]) })
	}
}

func (c words) completeSets(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.ask(cmd, c.sets)
}

func (c words) ask(cmd *cobra.Command, names func(context.Context) ([]string, error)) ([]string, cobra.ShellCompDirective) {
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
	client, err := c.Quick(ctx)
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	all, err := setrun.All(ctx, client, namespace)
	names := make([]string, len(all))
	for i, set := range all {
		names[i] = setrun.Spelled(set.Record.Parent)
	}
	return names, err
}

// runs returns the successful runs of a set, newest first.
func (c words) runs(ctx context.Context, name string) ([]string, error) {
	client, err := c.Quick(ctx)
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	set, err := setrun.Find(ctx, client, name, namespace)
	if err != nil {
		return nil, err
	}
	keeper := setrun.Keeper{Server: client, Parent: set.Record.Parent, Emit: func(event.Event) {}}
	kept, err := keeper.Known(ctx)
	var words []string
	for _, r := range kept.List() {
		if r.Usable() {
			words = append(words, r.Name+"\t"+r.Started.UTC().Format(time.RFC3339)+", by "+r.Who)
		}
	}
	return words, err
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
	return c.ask(cmd, func(ctx context.Context) ([]string, error) { return c.inventories(ctx, typ) })
}

func (c words) inventories(ctx context.Context, typ string) ([]string, error) {
	of, err := inventory.Parse(typ + "/any/any")
	if err != nil {
		return nil, err
	}
	client, err := c.Quick(ctx)
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
