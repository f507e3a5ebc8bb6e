package completion

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Releases completes the name of a Helm release, for verbs with no other argument.
func Releases(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return Ask(cmd, words{c}.releases)
	}
}

// ReleasesOfAll completes NAMESPACE/NAME of a Helm release.
func ReleasesOfAll(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return Ask(cmd, func(ctx context.Context) ([]string, error) {
			return words{c}.releasesIn(ctx, "", func(u *unstructured.Unstructured) string { return u.GetNamespace() + "/" + u.GetLabels()["name"] })
		})
	}
}

// releases returns the names of the releases in the namespace.
func (c words) releases(ctx context.Context) ([]string, error) {
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	return c.releasesIn(ctx, namespace, func(u *unstructured.Unstructured) string { return u.GetLabels()["name"] })
}

// releasesIn returns the releases in a namespace, or in all if it is empty. It names them by the
// metadata of what stores them.
func (c words) releasesIn(ctx context.Context, namespace string, name func(*unstructured.Unstructured) string) ([]string, error) {
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	var faults []error
	for _, place := range helmrelease.Places() {
		kind, err := client.Kind(ctx, place.Kind)
		if err == nil {
			err = client.Metadata(ctx, kind, object.Selection{Namespace: namespace, Labels: "owner=helm,status notin (superseded,uninstalled)"}, func(u *unstructured.Unstructured) {
				names = append(names, name(u))
			})
		}
		faults = append(faults, err)
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(faults...)
}
