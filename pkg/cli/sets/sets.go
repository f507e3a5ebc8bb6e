// Package sets implements the verb sets, with its subcommands delete and rollback.
package sets

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type setsFlags struct {
	allNamespaces bool
	output        string
}

type setsOptions struct {
	name       string
	everywhere bool
	run        string
	out        *printer.Printer
}

// oneSet refuses more than one argument. If there are two, the first is probably a misspelled
// subcommand.
func oneSet(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	advice := command.Kubectl("k8sconnect", "sets", text.ShellQuote(args[1])) + " shows the members of the set, and its runs"
	for _, sub := range cmd.Commands() {
		if text.Similar(args[0], sub.Name()) {
			advice = "did you mean sets " + sub.Name() + "?"
		}
	}
	return &object.HintedError{Err: fmt.Errorf("sets has no subcommand %q", args[0]), Advice: advice}
}

// New returns the verb sets.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags setsFlags
	cmd := &cobra.Command{
		Use:   "sets [[KIND[.GROUP]/]NAME]",
		Short: "List the sets in a namespace, or the members of one set",
		Long: `List the sets that apply --apply-set or kubectl apply --applyset created, with
the number of members, their readiness, the result of the last run, and the lock
holder. With a NAME, list the members of that set and its recorded runs.

Exit status: 0 listed, 2 could not tell.`,
		Example: `  # All sets in the cluster
  kubectl k8sconnect sets -A

  # The members of a set with their readiness, and the runs of the set
  kubectl k8sconnect sets shop -n shop`,
		Args:              oneSet,
		ValidArgsFunction: completion.Sets(c),
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "Sets in all namespaces, and sets whose parent is cluster-scoped")
	verb.OutputFlag(cmd, &flags.output, printer.Formats(printer.OfSets), "")
	cmd.AddCommand(newSetsDelete(c, streams), newRollback(c, streams))
	return cmd
}

func (f *setsFlags) toOptions(in verb.Invocation) (*setsOptions, error) {
	o := &setsOptions{everywhere: f.allNamespaces}
	var nameErr error
	if len(in.Args) == 1 {
		o.name = in.Args[0]
		_, _, nameErr = applyset.ParseName(o.name)
		if f.allNamespaces {
			nameErr = errors.Join(nameErr, errors.New("-A and a NAME cannot be combined: a set is in one namespace"))
		}
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run = print.Run
	report := printer.OfSets
	if o.name != "" {
		report = printer.OfMembers
	}
	var outErr error
	o.out, outErr = printer.For(report, print)
	return o, errors.Join(nameErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *setsOptions) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in.Connection)
	return verb.Finish(err, o.out.Close(ctx))
}

// work shows one set, or lists all. A set whose members or runs cannot be read is shown with the error.
func (o *setsOptions) work(ctx context.Context, c *connection.Connection) error {
	client, err := c.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return err
	}
	if o.name != "" {
		set, err := store.Must(ctx, client, o.name, namespace)
		if err != nil {
			return err
		}
		reported := eventOf(ctx, client, set)
		if reported.Runs, err = runsOf(ctx, client, set); err != nil {
			o.out.Print(event.Warned{Ref: reported.Ref, Text: fmt.Sprintf("its runs cannot be listed: %v", err)})
		}
		o.out.Print(reported)
		return reported.Err
	}
	if o.everywhere {
		namespace = ""
	}
	all, err := store.All(ctx, client, namespace)
	faults := []error{err}
	if err == nil {
		o.out.Print(event.Planned{})
	}
	if err == nil && len(all) == 0 {
		o.out.Print(event.NoSets{Namespace: namespace})
	}
	for _, set := range all {
		reported := eventOf(ctx, client, set)
		o.out.Print(reported)
		faults = append(faults, reported.Err)
	}
	return errors.Join(faults...)
}

func eventOf(ctx context.Context, client *client.Client, set *store.Set) event.Set {
	r := set.Record
	reported := event.Set{Ref: r.Parent, ID: r.ID, Tooling: r.Tooling, Namespaces: r.Promise.Namespaces, Fault: r.Check()}
	reported.Lock, reported.LastRun = setrun.LockState(ctx, client, r.Parent, client.Now())
	for _, gk := range r.Promise.Kinds {
		reported.Kinds = append(reported.Kinds, gk.String())
	}
	members, err := set.Members(ctx)
	if err != nil {
		reported.Err = err
		return reported
	}
	reported.Members = judge(ctx, client, members)
	return reported
}

func runsOf(ctx context.Context, client *client.Client, set *store.Set) ([]event.SetRun, error) {
	keeper := setrun.Keeper{Server: client, Parent: set.Record.Parent, Emit: func(event.Event) {}}
	kept, err := keeper.Known(ctx)
	if err != nil {
		return nil, err
	}
	// The Lease records some results that the history lacks.
	if last, err := setrun.LastRun(ctx, client, set.Record.Parent); err == nil {
		kept.Last = last
	}
	var runs []event.SetRun
	for _, r := range kept.List() {
		runs = append(runs, event.SetRun{ID: r.Name, Who: r.Who, Result: string(r.Result), Started: r.Started, Line: r.Line})
	}
	return runs, nil
}

// judge reports the readiness of each member. If a member cannot be read, its readiness is unknown.
func judge(ctx context.Context, client *client.Client, members []applyset.Member) []event.Member {
	judged := make([]event.Member, len(members))
	groups := map[schema.GroupVersionKind][]int{}
	for i, m := range members {
		judged[i].Ref = m.Ref
		groups[m.Ref.GVK] = append(groups[m.Ref.GVK], i)
	}
	for gvk, group := range groups {
		refs := make([]object.Ref, len(group))
		for i, at := range group {
			refs[i] = members[at].Ref
		}
		rule := readiness.For(gvk)
		client.Live(ctx, members[group[0]].Kind, refs, func(i int, live *unstructured.Unstructured, err error) {
			m := &judged[group[i]]
			if err != nil {
				m.Reason = err.Error()
				return
			}
			var content map[string]any
			if live != nil {
				content = live.Object
			}
			verdict := rule.Evaluate(content, client.Now())
			m.Judged, m.Ready = true, verdict.Ready
			if !verdict.Ready {
				m.Reason = verdict.Message
			}
		})
	}
	return judged
}
