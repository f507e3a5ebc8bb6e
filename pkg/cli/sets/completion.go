package sets

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// completeRuns completes the ID of a run to which the user can roll back the set in the arguments.
func completeRuns(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completion.Ask(cmd, func(ctx context.Context) ([]string, error) { return runs(ctx, c, args[0]) })
	}
}

// runs returns the successful runs of a set, newest first.
func runs(ctx context.Context, c *connection.Connection, name string) ([]string, error) {
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	set, err := store.Find(ctx, client, name, namespace)
	if err != nil {
		return nil, err
	}
	keeper := setrun.Keeper{Server: client, Parent: set.Record.Parent, Emit: func(event.Event) {}}
	kept, err := keeper.Known(ctx)
	var ids []string
	for _, r := range kept.List() {
		if r.Usable() {
			ids = append(ids, r.Name+"\t"+r.Started.UTC().Format(time.RFC3339)+", by "+r.Who)
		}
	}
	return ids, err
}
