package cli

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// whyNot looks for the causes why an object does not get ready. What it can not
// read is a cause too, and says so; an object that is gone by now has none.
func whyNot(client *cluster.Client) func(context.Context, object.Kind, object.Ref) []event.Cause {
	return func(ctx context.Context, kind object.Kind, ref object.Ref) []event.Cause {
		live, err := client.Get(ctx, kind, ref)
		if err != nil {
			return nil
		}
		// Time that is over leaves facts that are not complete, and better than none.
		facts, _ := unready.Gather(ctx, client, live)
		return unready.Diagnose(facts)
	}
}
