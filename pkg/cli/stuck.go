package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

type stuckFlags struct {
	allNamespaces bool
	selector      string
	output        string
}

type stuckOptions struct {
	targets targets
	// everything: objects of whatever type.
	everything bool
	run        string
	out        *printer.Printer
}

func newStuck(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags stuckFlags
	cmd := &cobra.Command{
		Use:   "stuck [TYPE/NAME… | TYPE [NAME…]]",
		Short: "Explain why terminating objects do not go away",
		Long: `Explain objects that are being deleted and do not go: why, what that is
concluded from, the next command, and what it may cost. Nothing is changed.

Without a TYPE, whatever is terminating in the namespace is explained; with -A,
in the whole cluster: each cause once, with all that it holds back.

Exit status: 0 nothing is stuck, 1 something is, 2 could not tell.`,
		Example: `  # Why does this namespace not go?
  kubectl k8sconnect stuck namespace shop

  # What hangs in the cluster, and what is behind it?
  kubectl k8sconnect stuck -A`,
		ValidArgsFunction: completions{c}.completeTargets,
		RunE:              runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "In all namespaces, and objects without one")
	cmd.Flags().StringVarP(&flags.selector, "selector", "l", "", "Only objects whose labels match, such as app=web,tier!=cache")
	outputFlag(cmd, &flags.output)
	return cmd
}

func (f *stuckFlags) toOptions(in invocation) (*stuckOptions, error) {
	o := &stuckOptions{everything: len(in.args) == 0}
	var targetsErr error
	if o.everything {
		o.targets = targets{labels: f.selector, everywhere: f.allNamespaces}
		targetsErr = checkSelector(f.selector)
	} else {
		// A TYPE alone is all of it: to look at more than was meant does no harm.
		all := targetFlags{allNamespaces: f.allNamespaces, all: f.selector == "" && !namesOne(in.args)}
		all.selector = f.selector
		o.targets, targetsErr = all.toTargets(in.args, in.streams)
	}
	print, printErr := printing(in.Connection, in.streams, f.output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.ForStuck(print)
	return o, errors.Join(targetsErr, printErr, flagError("-o", outErr), in.Check())
}

func (o *stuckOptions) execute(ctx context.Context, in invocation) error {
	err := o.work(ctx, in.Connection)
	return finish(err, o.out.Close(ctx))
}
