package completion

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Managers completes the field managers of the objects or the TYPE in the arguments. If the
// arguments name neither, it completes the field managers of a few common types. In a
// comma-separated list, it completes the last manager.
func Managers(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return Ask(cmd, func(ctx context.Context) ([]string, error) {
			everywhere, _ := cmd.Flags().GetBool("all-namespaces")
			found, err := words{c}.managers(ctx, args, everywhere)
			return afterComma(found, toComplete), err
		})
	}
}

func (c words) managers(ctx context.Context, args []string, everywhere bool) ([]string, error) {
	objects := namedObjects(args)
	if len(objects) == 0 {
		for _, typ := range usual() {
			objects = append(objects, named{typ: typ})
		}
	}
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	if everywhere {
		namespace = ""
	}
	// Use the managers found before a timeout or a refusal.
	var mu sync.Mutex
	found := map[string]bool{}
	var asking errgroup.Group
	for _, o := range objects {
		asking.Go(func() error {
			return managersOf(ctx, client, o, namespace, func(manager string) {
				mu.Lock()
				defer mu.Unlock()
				found[manager] = true
			})
		})
	}
	if err = asking.Wait(); len(found) > 0 {
		err = nil
	}
	return slices.Sorted(maps.Keys(found)), err
}

// usual returns the types to read if the arguments name no object. They are few, because a shell is
// waiting.
func usual() []string {
	return []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "services", "configmaps"}
}

// enough is the maximum number of objects of a type that are read. More objects would add few new
// managers.
const enough = 1000

func managersOf(ctx context.Context, client *client.Client, o named, namespace string, visit func(string)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	kind, err := client.Resource(ctx, o.typ)
	if err != nil {
		return err
	}
	sel := object.Selection{Namespace: target.Scope(kind, namespace), Name: o.name}
	seen := 0
	err = client.Metadata(ctx, kind, sel, func(u *unstructured.Unstructured) {
		for _, f := range u.GetManagedFields() {
			visit(f.Manager)
		}
		if seen++; seen == enough {
			stop()
		}
	})
	if seen >= enough {
		return nil
	}
	return err
}

// named represents one object or, if name is empty, all objects of its type.
type named struct{ typ, name string }

// namedObjects ignores paths.
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

// afterComma prefixes each word with the text up to the last comma, and drops words that were
// already typed.
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
