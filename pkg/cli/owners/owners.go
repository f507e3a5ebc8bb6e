// Package owners implements the verb owners: of one object, field by field; of many objects, as
// counts, as a history, or as a rewrite of owners at API versions that are no longer served.
package owners

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/await"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
)

type flags struct {
	path     string
	managers []string
	status   bool
	history  bool
	since    verb.Since
	output   string
	target   target.Flags
	many     manyFlags
}

type options struct {
	targets target.Targets
	engine  owners.Engine
	since   verb.Since
	run     string
	out     *printer.Printer
}

// New returns the verb owners.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags flags
	cmd := &cobra.Command{
		Use:   "owners [TYPE/NAME… | TYPE [NAME…]]",
		Short: "Show who owns which field, or count fields by owner",
		Long: `Show an object and, next to each field, its owners: the field manager, how it
wrote (Apply, Update, or a subresource), and when it last wrote anything in the
object. The first lines show how many fields each owner has.

--history shows earlier owners of a path, as recorded by the webhook. Without a
name, it lists changes of ownership, newest first: in the namespace, of one
TYPE, or everywhere with -A.

Without a name, the command counts fields by manager and kind: in the namespace,
of one TYPE, of the objects that -l or -f selects, or everywhere with -A.

Only --migrate-versions changes anything.

Exit status: 0 shown or rewritten; 1 a manager not in --expect owns something,
or an owner was not rewritten; 2 could not tell.`,
		Example: `  # Show who owns which field of a Deployment
  kubectl k8sconnect owners deploy/web

  # Who sets the number of replicas, and who did before?
  kubectl k8sconnect owners deploy/web --path=.spec.replicas --history

  # Who changed replicas in the last day, and where?
  kubectl k8sconnect owners -n shop --history --since=24h --path=.spec.replicas

  # Which fields of the Deployment does kubectl edit own?
  kubectl k8sconnect owners deploy/web --manager=kubectl-edit

  # Does anyone but Flux and Kubernetes own anything in the cluster?
  kubectl k8sconnect owners -A --expect=flux,kube-*

  # Which fields would have no owner without kubectl apply?
  kubectl k8sconnect owners -n shop --from=kubectl-client-side-apply

  # All fields of the Deployment that the autoscaler owns
  kubectl k8sconnect owners deploy/web -o json | jq -r '.objects[].fields[] |
    select(any(.owners[]; .subresource == "scale")).path'`,
		ValidArgsFunction: completion.Targets(c),
		RunE:              verb.Runner(c, streams, flags.choose),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&flags.path, "path", "", "Only this path, such as .spec.replicas, and everything below it")
	cmd.Flags().StringSliceVar(&flags.managers, "manager", nil, "Only fields that this field manager owns, including those in the status. Repeatable")
	cmd.Flags().BoolVar(&flags.status, "status", false, "Include the status; -o yaml and -o json always do")
	cmd.Flags().BoolVar(&flags.history, "history", false, "Show which paths changed owners (needs the webhook)")
	cmd.Flags().Var(&flags.since, "since", "With --history, only changes in this last period, or since this time, such as 24h, 7d or 2026-01-31T14:00:00Z")
	flags.target.AddSet(cmd)
	flags.target.Add(cmd)
	flags.many.add(cmd)
	cmd.Flags().Lookup("all-namespaces").Usage = "All namespaces, and cluster-scoped objects"
	verb.OutputFlag(cmd, &flags.output, printer.Formats(printer.OfOwners, printer.OfSurvey), "The format "+output.HTML+" is for many objects, and for --history")
	help.Complete(cmd, "path", completion.Paths(c))
	for _, flag := range []string{"manager", "expect", "from"} {
		help.Complete(cmd, flag, completion.Managers(c))
	}
	return cmd
}

func (f *flags) choose(in verb.Invocation) (verb.Options, error) {
	a := asked{Target: f.target, Managers: f.managers, Output: f.output, Named: target.NameObjects(in.Args)}
	a.History, a.Path, a.Since = f.history, f.path, f.since
	for _, flag := range []string{"path", "history", "status"} {
		ofMany := a.History && !a.Named && flag != "status"
		if in.Cmd.Flags().Changed(flag) && !ofMany {
			a.Shown = append(a.Shown, "--"+flag)
		}
	}
	if err := errors.Join(f.many.check(in.Cmd), f.checkSince(in.Cmd)); err != nil {
		return nil, err
	}
	if f.many.means(a) {
		return f.many.toOptions(in, a)
	}
	return f.toOptions(in)
}

func (f *flags) checkSince(cmd *cobra.Command) error {
	if cmd.Flags().Changed("since") && !f.history {
		return errors.New("--since requires --history")
	}
	return nil
}

func (f *flags) toOptions(in verb.Invocation) (*options, error) {
	o := &options{since: f.since, engine: owners.Engine{
		Managers: f.managers, Status: f.status || f.output != output.Table, History: f.history,
	}}
	var targetsErr error
	if f.target.Set != "" {
		o.targets, targetsErr = f.target.ToTargets(in.Args, in.Streams)
	} else {
		targetsErr = o.targets.Read(in.Args)
	}
	var pathErr error
	if f.path != "" {
		o.engine.Path, pathErr = fieldpath.ParsePath(f.path)
	}
	var managerErr error
	if slices.Contains(f.managers, "") || f.managers != nil && len(f.managers) == 0 {
		managerErr = errors.New("--manager is empty")
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	if f.output == output.HTML && !f.history {
		printErr = errors.Join(printErr, object.Hinted("add --history, or use -o yaml", "-o html of named objects shows their history"))
	}
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfOwners, print)
	return o, errors.Join(targetsErr, verb.FlagError("--path", pathErr), managerErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *options) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in.Connection)
	return verb.Finish(err, o.out.Close(ctx))
}

func (o *options) work(ctx context.Context, c *connection.Connection) error {
	client, err := c.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	found, faults := o.targets.Resolve(ctx, c, client)
	refs := make([]object.Ref, len(found))
	for i, t := range found {
		refs[i] = object.Ref{GVK: t.Kind.GVK, Namespace: t.Namespace, Name: t.Name}
	}
	o.engine.From = o.since.From(client.Now())
	o.engine.Reader, o.engine.Now = target.ExplainingReader{Client: client}, client.Now
	workloads := await.CollectWorkloads(o.out.Print)
	err = o.engine.Run(ctx, refs, workloads.Handle)
	if len(o.engine.Path) == 0 && len(o.engine.Managers) == 0 {
		workloads.Report(ctx, client.NoRetry())
	}
	if errors.Is(err, owners.ErrHistoryUnknown) && faults == nil && len(verb.Flatten(err)) == 1 {
		return verb.ErrUnknown
	}
	return errors.Join(faults, err)
}
