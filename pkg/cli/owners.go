package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/images"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
)

type ownersFlags struct {
	path     string
	managers []string
	status   bool
	history  bool
	output   string
	set      target.Flags // only the flag for a set
}

type ownersOptions struct {
	targets target.Targets
	engine  owners.Engine
	run     string
	out     *printer.Printer
}

func newOwners(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags ownersFlags
	cmd := &cobra.Command{
		Use:   "owners TYPE/NAME… | TYPE NAME…",
		Short: "Show who owns each field of an object",
		Long: `Show an object with the owners of each field beside it: the field manager, how
it wrote (Apply, Update, or a subresource), and when it last wrote anything of
the object. On top stands how many fields each of them has. Nothing is changed.

--history tells who owned a path before, as the webhook recorded it.

Exit status: 0 shown, 2 could not tell.`,
		Example: `  # Whose are the fields of this Deployment?
  kubectl k8sconnect owners deploy/web

  # Who sets the number of replicas, and who did before?
  kubectl k8sconnect owners deploy/web --path=.spec.replicas --history

  # What of it is kubectl edit's?
  kubectl k8sconnect owners deploy/web --manager=kubectl-edit

  # All that the autoscaler owns of it
  kubectl k8sconnect owners deploy/web -o json | jq -r '.objects[].fields[] |
    select(any(.owners[]; .subresource == "scale")).path'`,
		ValidArgsFunction: completion.Targets(c),
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&flags.path, "path", "", "Only this path and what lies below it, such as .spec.replicas")
	cmd.Flags().StringSliceVar(&flags.managers, "manager", nil, "Only what this field manager owns, including the status. Repeatable")
	cmd.Flags().BoolVar(&flags.status, "status", false, "The status, too; -o yaml and -o json always have it")
	cmd.Flags().BoolVar(&flags.history, "history", false, "Which paths changed owners; needs the webhook")
	flags.set.AddSet(cmd)
	cmd.Flags().StringVarP(&flags.output, "output", "o", output.Table, "Form of the results: table, yaml or json")
	help.Words(cmd, "output", output.Table, output.YAML, output.JSON)
	help.Words(cmd, "path")
	help.Words(cmd, "manager")
	return cmd
}

func (f *ownersFlags) toOptions(in verb.Invocation) (*ownersOptions, error) {
	o := &ownersOptions{engine: owners.Engine{
		Managers: f.managers, Status: f.status || f.output != output.Table, History: f.history,
	}}
	var targetsErr error
	if f.set.Set != "" {
		o.targets, targetsErr = f.set.ToTargets(in.Args, in.Streams)
	} else {
		targetsErr = o.name(in.Args)
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
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.ForOwners(print)
	return o, errors.Join(targetsErr, verb.FlagError("--path", pathErr), managerErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *ownersOptions) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in.Connection)
	return verb.Finish(err, o.out.Close(ctx))
}

// name parses the arguments. It accepts only named objects, because the output for a
// single object is long enough.
func (o *ownersOptions) name(args []string) error {
	const hint = "name it as TYPE/NAME, or as TYPE NAME"
	if len(args) == 0 {
		return &object.HintedError{Err: errors.New("no object named"), Advice: hint}
	}
	if err := o.targets.Read(args); err != nil {
		return err
	}
	if len(o.targets.Types) > 0 {
		return &object.HintedError{Err: fmt.Errorf("no %s named", args[0]), Advice: hint}
	}
	return nil
}

// work reads, and reports to the printer.
func (o *ownersOptions) work(ctx context.Context, c *connection.Connection) error {
	const pace = 0 // as the server allows
	client, err := c.Connect(ctx, o.run, pace, o.out.Print)
	if err != nil {
		return err
	}
	found, faults := o.targets.Resolve(ctx, c, client)
	refs := make([]object.Ref, len(found))
	for i, t := range found {
		refs[i] = object.Ref{GVK: t.Kind.GVK, Namespace: t.Namespace, Name: t.Name}
	}
	o.engine.Reader, o.engine.Now = target.ExplainingReader{Client: client}, client.Now
	running := images.Reporting(o.out.Print)
	err = o.engine.Run(ctx, refs, running.Take)
	if len(o.engine.Path) == 0 && len(o.engine.Managers) == 0 {
		running.Tell(ctx, client.NoRetry())
	}
	if errors.Is(err, owners.ErrHistoryUnknown) && faults == nil && len(verb.Flatten(err)) == 1 {
		return verb.ErrUnknown // The result says why.
	}
	return errors.Join(faults, err)
}
