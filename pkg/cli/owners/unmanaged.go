package owners

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
)

// unmanagedOptions are the options for the list of objects that no tool manages.
type unmanagedOptions struct{ surveyOptions }

// toUnmanaged reports two kinds of wrong flags together: those that select objects by other means, and those
// that count fields.
func (f *manyFlags) toUnmanaged(in verb.Invocation, a asked) (verb.Options, error) {
	o := &unmanagedOptions{}
	targetErr := o.target(a, in)
	var otherErr error
	if a.Named || a.Target.Set != "" || len(a.Target.Filenames) > 0 || a.Target.Kustomize != "" {
		otherErr = errors.New("--unmanaged lists objects: select them with a TYPE, -n, -A or -l, not by name, set or file")
	}
	if f.summary || f.expect != nil || f.from != nil || a.Managers != nil || len(a.Shown) > 0 {
		otherErr = errors.Join(otherErr, errors.New("--unmanaged counts no fields: leave out --summary, --expect, --from, --manager, --path and --status"))
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, a.Output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfUnmanaged, print)
	return o, errors.Join(targetErr, otherErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *unmanagedOptions) Execute(ctx context.Context, in verb.Invocation) error {
	return o.execute(ctx, in, o.work)
}

func (o *unmanagedOptions) work(ctx context.Context, in verb.Invocation) error {
	client, err := in.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	places, where, err := o.places(ctx, in, client)
	if err != nil {
		return err
	}
	all := owners.NewUnmanaged()
	add := func(c *owners.Unmanaged, u *unstructured.Unstructured) {
		// An object with unreadable managed fields counts as managed: owners -A reports it.
		_ = c.Add(u)
	}
	faults := survey.Metadata(ctx, client.NoRetry(), places, owners.NewUnmanaged, add, all.Merge)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !o.targets.Everywhere {
		// The age of the cluster tells its installation from later objects.
		namespaces := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
		kind := object.Kind{GVK: namespaces, Resource: "namespaces"}
		if u, err := client.Get(ctx, kind, object.Ref{GVK: namespaces, Name: "kube-system"}); err == nil {
			all.InCluster(u.GetCreationTimestamp().Time)
		}
	}
	found := all.Result(client.Now())
	found.Where, found.Unread = where, faults
	o.out.Print(found)
	return unreadOf(faults, in.Verbosity > 0)
}
