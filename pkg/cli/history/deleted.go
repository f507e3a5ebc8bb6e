package history

import (
	"context"
	"errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
)

type deletedOptions struct {
	// targets is empty for all kinds.
	targets    target.Targets
	everywhere bool
	since      verb.Since
	run        string
	out        *printer.Printer
}

func (f *flags) toDeletions(in verb.Invocation) (*deletedOptions, error) {
	o := &deletedOptions{everywhere: f.everywhere, since: f.since}
	var targetsErr error
	if target.NameObjects(in.Args) {
		targetsErr = object.Hinted("leave out --deleted: the history of an object has its deletions. Several TYPEs are one argument, such as pods,cm",
			"--deleted takes a TYPE, and no names")
	} else if len(in.Args) > 0 {
		targetsErr = o.targets.Read(in.Args)
		o.targets.Everywhere = f.everywhere
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfDeletions, print)
	return o, errors.Join(targetsErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *deletedOptions) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in)
	return verb.Finish(err, o.out.Close(ctx))
}

func (o *deletedOptions) work(ctx context.Context, in verb.Invocation) error {
	server, err := in.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	var q owners.Query
	where := " in the cluster"
	if !o.everywhere {
		if q.Namespace, _, err = in.Namespace(); err != nil {
			return err
		}
		where = " in the namespace " + q.Namespace
	}
	if len(o.targets.Types) > 0 {
		found, err := o.targets.Resolve(ctx, in.Connection, server)
		if err != nil {
			return err
		}
		for _, t := range found {
			q.Places = append(q.Places, owners.Place{Kind: t.Kind.GVK.GroupKind(), Namespace: t.Namespace})
		}
	}
	q.From = o.since.From(server.Now())
	found, err := q.Deletions(ctx, target.ExplainingReader{Client: server}, server.Now())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && len(found.Found) == 0 && q.Within() != "" {
		if missing := target.MissingNamespace(ctx, server, q.Within()); missing != "" {
			see := command.Kubectl("k8sconnect", "history", "namespace/"+q.Within())
			return object.Hinted("to see whether it was deleted: "+see, "no deletions found: %s", missing)
		}
	}
	// If some records could not be read, the deletions in the others are shown before the error.
	if err == nil || len(found.Found) > 0 {
		found.Where = where
		o.out.Print(found)
	}
	return err
}
