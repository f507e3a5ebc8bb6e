package stuckcmd

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

type stuckFlags struct {
	allNamespaces bool
	selector      string
	set           target.Flags // the flag for a set alone
	output        string
}

type stuckOptions struct {
	targets target.Targets
	// everything: objects of whatever type.
	everything bool
	run        string
	out        *printer.Printer
}

// New returns the verb stuck.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags stuckFlags
	cmd := &cobra.Command{
		Use:   "stuck [TYPE/NAME… | TYPE [NAME…]]",
		Short: "Explain why terminating objects do not go away",
		Long: `Explain objects that are being deleted and do not go: why, what that is
concluded from, the next command, and what it may cost. Nothing is changed.

Without a TYPE, whatever is terminating is explained, each cause once, with all
that it holds back: in the namespace of -n, or else in the whole cluster if you
may list the Pods of all namespaces.

Exit status: 0 nothing is stuck, 1 something is, 2 could not tell.`,
		Example: `  # Why does this namespace not go?
  kubectl k8sconnect stuck namespace shop

  # What hangs in the cluster, and what is behind it?
  kubectl k8sconnect stuck -A`,
		ValidArgsFunction: completion.Targets(c),
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "In all namespaces, and objects without one")
	cmd.Flags().StringVarP(&flags.selector, "selector", "l", "", "Only objects whose labels match, such as app=web,tier!=cache")
	flags.set.AddSet(cmd)
	verb.OutputFlag(cmd, &flags.output)
	return cmd
}

func (f *stuckFlags) toOptions(in verb.Invocation) (*stuckOptions, error) {
	o := &stuckOptions{everything: len(in.Args) == 0 && f.set.Set == ""}
	var targetsErr error
	switch {
	case f.set.Set != "":
		f.set.AllNamespaces, f.set.Selector = f.allNamespaces, f.selector
		o.targets, targetsErr = f.set.ToTargets(in.Args, in.Streams)
	case o.everything:
		o.targets = target.Targets{Labels: f.selector, Everywhere: f.allNamespaces}
		targetsErr = checkSelector(f.selector)
	default:
		// A TYPE alone is all of it: to look at more than was meant does no harm.
		all := target.Flags{AllNamespaces: f.allNamespaces, All: f.selector == "" && !namesOne(in.Args)}
		all.Selector = f.selector
		o.targets, targetsErr = all.ToTargets(in.Args, in.Streams)
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.ForStuck(print)
	return o, errors.Join(targetsErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

// namesOne reports whether the arguments name objects, rather than a TYPE alone.
func namesOne(args []string) bool { return len(args) > 1 || strings.Contains(args[0], "/") }

func checkSelector(selector string) error {
	_, err := labels.Parse(selector)
	return verb.FlagError("-l", err)
}
