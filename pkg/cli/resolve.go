package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// target is what is meant of one kind: one object, or those that match.
type target struct {
	Kind object.Kind
	object.Selection
}

// resolve asks the cluster for the types of what was named by arguments. A type
// may be a category, such as all, where no name is given. The same object named
// twice, by a short name perhaps, is one. The error joins those of all types that
// the server does not serve, which are *cluster.NoTypeError; the others are
// returned as well.
func (t *targets) resolve(ctx context.Context, c *connection.Connection, client *cluster.Client) ([]target, error) {
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	var (
		found  []target
		faults []error
		kinds  = map[string]object.Kind{}
	)
	for _, n := range t.named {
		kind, known := kinds[n.Type]
		if !known {
			if kind, err = client.Resource(ctx, n.Type); err != nil {
				faults = append(faults, err)
				continue
			}
			kinds[n.Type] = kind
		}
		found = append(found, target{kind, object.Selection{Namespace: scope(kind, namespace), Name: n.Name}})
	}
	if t.everywhere {
		namespace = ""
	}
	for _, typ := range t.types {
		members, err := client.Resources(ctx, typ)
		faults = append(faults, err)
		for _, kind := range members {
			found = append(found, target{kind, object.Selection{Namespace: scope(kind, namespace), Labels: t.labels, Fields: t.fields}})
		}
	}
	return once(found), errors.Join(faults...)
}

// scope is the namespace in which to look for objects of the kind.
func scope(kind object.Kind, namespace string) string {
	if kind.Namespaced {
		return namespace
	}
	return ""
}

// once leaves out targets that are there already.
func once(all []target) []target {
	var out []target
	for _, t := range all {
		if !slices.ContainsFunc(out, func(o target) bool { return o.Kind.GVK == t.Kind.GVK && o.Selection == t.Selection }) {
			out = append(out, t)
		}
	}
	return out
}
