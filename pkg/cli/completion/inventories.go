package completion

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Inventories completes KIND/NAMESPACE/NAME of what has an inventory.
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
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	names, err := c.inventories(ctx, typ)
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
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
