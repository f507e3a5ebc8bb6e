package give

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give/move"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// ofSet returns a set as the old or the new owner. A set's inventory is its label, so a set deletes no
// object without the label, and needs no annotation to keep one. Its field manager is the default one
// of the program that wrote the parent.
func (p party) ofSet(ctx context.Context, c *connection.Connection, server *client.Client, isNew bool) (move.Tool, error) {
	namespace, _, err := c.Namespace()
	if err != nil {
		return move.Tool{}, err
	}
	find := store.Must
	if isNew {
		find = store.Find // The next apply creates the set.
	}
	set, err := find(ctx, server, p.set, namespace)
	if err != nil {
		return move.Tool{}, err
	}
	if err := set.Record.Check(); err != nil {
		return move.Tool{}, err
	}
	out := move.Tool{
		Name: "the set " + set.Record.Parent.String(), Manager: "k8sconnect", Operation: managedfields.Apply,
		Labels: map[string]string{applyset.PartOfLabel: set.ID()}, Joins: true, Absent: !set.Exists,
	}
	byPlugin := func(f metav1.ManagedFieldsEntry) bool { return f.Manager == applyset.Manager }
	if set.Exists && !slices.ContainsFunc(set.Live.GetManagedFields(), byPlugin) {
		out.Manager = "kubectl"
	}
	members, err := set.Members(ctx)
	if err != nil {
		return move.Tool{}, err
	}
	listed := map[object.Key]bool{}
	for _, m := range members {
		listed[m.Ref.Key()] = true
	}
	out.Lists = func(ref object.Ref) bool { return listed[ref.Key()] }
	return out, nil
}
