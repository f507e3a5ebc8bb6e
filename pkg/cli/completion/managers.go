package completion

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Managers completes the field managers that own something of the objects which the arguments
// name, or of a TYPE in the namespace. In a list with commas, the last one is completed.
func Managers(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return words{c}.ask(cmd, func(ctx context.Context) ([]string, error) {
			found, err := words{c}.managers(ctx, args)
			return afterComma(found, toComplete), err
		})
	}
}

func (c words) managers(ctx context.Context, args []string) ([]string, error) {
	objects := namedObjects(args)
	if len(objects) == 0 {
		return nil, nil
	}
	client, err := c.Quick(ctx)
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, o := range objects {
		if err := managersOf(ctx, client, o, namespace, func(manager string) { found = append(found, manager) }); err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func managersOf(ctx context.Context, client *cluster.Client, o named, namespace string, visit func(string)) error {
	kind, err := client.Resource(ctx, o.typ)
	if err != nil {
		return err
	}
	sel := object.Selection{Namespace: target.Scope(kind, namespace), Name: o.name}
	return client.Metadata(ctx, kind, sel, func(u *unstructured.Unstructured) {
		for _, f := range u.GetManagedFields() {
			visit(f.Manager)
		}
	})
}

// named is an object as it is named in arguments; without a name, all of its type.
type named struct{ typ, name string }

// namedObjects are those of TYPE/NAME…, TYPE NAME… or TYPE, among paths.
func namedObjects(args []string) []named {
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, ".") })
	if len(args) == 0 {
		return nil
	}
	var out []named
	if typ := args[0]; !strings.Contains(typ, "/") {
		for _, name := range args[1:] {
			out = append(out, named{typ, name})
		}
		if len(out) == 0 {
			out = append(out, named{typ: typ})
		}
		return out
	}
	for _, arg := range args {
		typ, name, _ := strings.Cut(arg, "/")
		out = append(out, named{typ, name})
	}
	return out
}

// afterComma puts what is typed up to the last comma before each word, without those that are
// typed there.
func afterComma(words []string, typed string) []string {
	at := strings.LastIndex(typed, ",") + 1
	var out []string
	for _, w := range words {
		if !slices.Contains(strings.Split(typed[:at], ","), w) {
			out = append(out, typed[:at]+w)
		}
	}
	return out
}
