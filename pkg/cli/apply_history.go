package cli

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/past"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// keeper keeps the history of the run's set; nil where none is kept.
func (o *applyOptions) keeper(client *cluster.Client, set *sets.Set) *past.Keeper {
	if o.history == 0 || o.engine.DryRun != object.DryRunNone {
		return nil
	}
	return &past.Keeper{Server: client, Parent: set.Record.Parent, Keep: o.history, Emit: o.out.Print}
}

// result is what the history says of a run that ended so. One that left out some of its
// input is none to go back to: it did not state the set.
func (o *applyOptions) result(err error) history.Result {
	switch {
	case o.undone:
		return history.RolledBack
	case err != nil, o.input.LeftOut():
		return history.Failed
	default:
		return history.Applied
	}
}
