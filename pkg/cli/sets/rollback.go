package sets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/choices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/await"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
)

type rollbackFlags struct {
	to, confirm string
	dryRun      string
	output      string
	yes, atomic bool
	choices     choices.Flags
	await       await.Flags
	lock        setrun.LockFlags
}

type rollbackOptions struct {
	name        string
	parent      object.Ref
	to, confirm string
	cluster     event.Cluster
	// number is the number of the last run when the target was chosen.
	number     int64
	yes        bool
	dryRun     bool
	predictor  predict.Predictor
	awaited    await.Awaited
	lockWithin time.Duration
	journal    *restore.Journal
	output     string
}

func newRollback(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags rollbackFlags
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Roll a set back to an earlier run",
		Long: `Apply the manifests of an earlier run of a set again, and prune what was added
since. The changes are shown first and need confirmation.

Without --to, the command goes back to the last successful run before the newest
run. If the newest run is a rollback that failed or was killed, the command
continues it.`,
		Example: `  # Roll back the last apply
  kubectl k8sconnect sets rollback web -n shop

  # In CI: confirm the changes that a run without --confirm showed
  kubectl k8sconnect sets rollback web -n shop --confirm=DIGEST`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completion.Sets(c),
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&flags.to, "to", "", "ID of the RUN to roll back to; with an unknown ID, the runs are listed")
	help.Complete(cmd, "to", completeRuns(c))
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "Roll back without asking")
	cmd.Flags().StringVar(&flags.confirm, "confirm", "", "Roll back without asking, but only if the changes match this DIGEST, which an earlier command printed; for CI")
	verb.DryRunFlag(cmd.Flags(), &flags.dryRun, "Only show what the server would change; server and client are the same here")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "server"
	cmd.Flags().BoolVar(&flags.atomic, "atomic", false, "If the rollback fails, undo what it wrote")
	flags.choices.Add(cmd.Flags())
	flags.await.Add(cmd)
	flags.lock.Add(cmd.Flags())
	verb.OutputFlag(cmd, &flags.output, printer.Formats(printer.OfDelete), "")
	return cmd
}

func (f *rollbackFlags) toOptions(in verb.Invocation) (*rollbackOptions, error) {
	if len(in.Args) == 0 {
		return nil, errors.New("no set named")
	}
	_, _, nameErr := applyset.ParseName(in.Args[0])
	predictor, predictorErr := f.choices.ToPredictor()
	awaited, awaitedErr := f.await.ToAwaited(in.Cmd.Flags(), verb.IsUnattended(in.Streams))
	dryRun, dryRunErr := verb.DryRunOf(f.dryRun)
	within, lockErr := f.lock.Within(in.Cmd.Flags().Changed, true)
	o := &rollbackOptions{
		name: in.Args[0], to: f.to, confirm: f.confirm, yes: f.yes,
		predictor: predictor, awaited: awaited, lockWithin: within, dryRun: dryRun != object.DryRunNone, output: f.output,
	}
	if f.atomic {
		o.journal = &restore.Journal{}
	}
	var toErr error
	if f.to == "" && in.Cmd.Flags().Changed("to") { // Perhaps a script's variable is unset.
		toErr = errors.New("--to is empty")
	}
	return o, errors.Join(nameErr, toErr, setrun.CheckDigest(f.confirm), dryRunErr, predictorErr, awaitedErr, lockErr, in.Check())
}

func (o *rollbackOptions) Execute(ctx context.Context, in verb.Invocation) error {
	run, manifests, err := o.earlier(ctx, in)
	if err != nil {
		return err
	}
	text, err := textOf(manifests)
	if err != nil {
		return err
	}
	of := setrun.OnCluster([]string{o.name, run.ID, run.Input, o.predictor.Manager}, o.cluster)
	var document bytes.Buffer // output of the comparison; dropped if the rollback goes ahead
	shown, err := o.show(ctx, in, text, of, &document)
	if o.dryRun || !errors.Is(err, verb.ErrNo) {
		_, _ = in.Streams.Out.Write(document.Bytes())
	}
	// An object that can never be applied must not keep the others at the run that they are to leave.
	despite := errors.Is(err, verb.ErrUnknown) && o.yes && o.confirm == "" && !o.dryRun
	if !errors.Is(err, verb.ErrNo) && !despite { // Nothing would change, or the comparison failed.
		if err != nil {
			text := "nothing was changed"
			if errors.Is(err, verb.ErrUnknown) && !o.dryRun && o.confirm == "" {
				text += "; --yes rolls back the other objects"
			}
			fmt.Fprintln(in.Streams.ErrOut, text)
		}
		return err
	}
	digest := shown.Digest(o.confirm, of...)
	if o.dryRun {
		fmt.Fprintln(in.Streams.ErrOut, "dry run: nothing was changed; confirm this with --confirm="+digest)
		if shown.Contested() {
			return verb.ErrNo
		}
		return nil
	}
	if err := o.confirmed(ctx, in.Streams, digest); err != nil {
		_, _ = in.Streams.Out.Write(document.Bytes())
		return err
	}
	return o.apply(ctx, in, run.Name(), text, func(now apply.Proposal) (held bool, err error) {
		if o.to == "" && now.Last.Place.Number > o.number {
			return false, o.unconfirmed("run "+now.Last.ID+" has changed the set in the meantime, so this would roll back to another run",
				"run this again to see what it would change now")
		}
		if o.yes && o.confirm == "" {
			return false, nil
		}
		if now.Unknown != nil {
			return false, now.Unknown
		}
		if now.Plan.Digest(digest, of...) == digest {
			return true, nil
		}
		return false, o.unconfirmed("the cluster has changed since the changes were shown",
			"run this again to see what it would change now")
	})
}

// show runs the comparison and prints a table. It writes any other format to document.
func (o *rollbackOptions) show(ctx context.Context, in verb.Invocation, text []byte, of []string, document *bytes.Buffer) (*review.Plan, error) {
	print, err := verb.Printing(in.Connection, in.Streams, o.output)
	if err != nil {
		return nil, err
	}
	if o.output == output.Table {
		of = nil // The digest follows on stderr.
	} else {
		print.Out = document
	}
	print.External, err = verb.ExternalDiff(in.Streams)
	if err != nil {
		return nil, err
	}
	out, err := printer.For(printer.OfDiff, print)
	if err != nil {
		return nil, err
	}
	var found review.Plan
	compare := &diff.Options{
		Input: input.Of(text), Predictor: o.predictor, Set: setrun.Prune(o.name),
		Found: &found, Covers: of, Run: print.Run, Out: out,
	}
	return &found, compare.Execute(ctx, in)
}

// apply applies the earlier run if the callback (approve) allows it.
func (o *rollbackOptions) apply(ctx context.Context, in verb.Invocation, to history.Name, text []byte, approve func(apply.Proposal) (held bool, err error)) error {
	print, err := verb.Printing(in.Connection, in.Streams, o.output)
	if err != nil {
		return err
	}
	out, err := printer.For(printer.OfApply, print)
	if err != nil {
		return err
	}
	back := &apply.Options{
		Input: input.Of(text), Predictor: o.predictor, Awaited: o.awaited,
		Set: setrun.Prune(o.name), LockWithin: o.lockWithin, History: setrun.Usual,
		Journal: o.journal, RollbackTo: to, Approve: approve, Run: print.Run, Out: out,
	}
	return back.Execute(ctx, in)
}

// earlier returns the run to roll back to, and its manifests. It prints its own warnings, because the printer
// belongs to the apply that follows.
func (o *rollbackOptions) earlier(ctx context.Context, in verb.Invocation) (history.Run, []*unstructured.Unstructured, error) {
	width, _ := verb.Terminal(in.Streams.ErrOut)
	report := func(e event.Event) {
		if w, ok := e.(event.Warned); ok {
			fmt.Fprintln(in.Streams.ErrOut, format.Fit("warning: ", w.Ref.String()+": "+w.Text, width))
		}
	}
	client, err := in.Connect(ctx, in.NewRun(), 0, report)
	if err != nil {
		return history.Run{}, nil, err
	}
	namespace, _, err := in.Namespace()
	if err != nil {
		return history.Run{}, nil, err
	}
	set, err := store.Must(ctx, client, o.name, namespace)
	if err != nil {
		return history.Run{}, nil, err
	}
	o.parent = set.Record.Parent
	if o.cluster, err = in.Identify(ctx, client)(); err != nil {
		return history.Run{}, nil, err
	}
	keeper := setrun.Keeper{Server: client, Parent: set.Record.Parent, Emit: report}
	kept, err := keeper.Runs(ctx)
	if err != nil {
		return history.Run{}, nil, err
	}
	last, err := setrun.LastRun(ctx, client, o.parent)
	if fault, unread := errors.AsType[*history.FaultError](err); unread {
		kept.Faults = append(kept.Faults, fault)
	} else if err != nil {
		return history.Run{}, nil, err
	}
	kept.Last = last
	for _, fault := range kept.Faults {
		report(event.Warned{Ref: set.Record.Parent, Text: fault.Error()})
	}
	newest, known := kept.Newest()
	if known && !kept.Keeps(newest) {
		report(event.Warned{Ref: o.parent, Text: "the last run, " + newest.ID + ", is not in the history: you cannot roll back to it"})
	}
	to, err := kept.To(o.to)
	if err != nil {
		return history.Run{}, nil, fmt.Errorf("%s: %w", o.parent, err)
	}
	o.number = max(newest.Place.Number, last.Place.Number)
	if o.to == "" && known && newest.Unfinished() == to.Name() {
		report(event.Warned{Ref: o.parent, Text: fmt.Sprintf("run %s was to roll back to run %s and did not succeed: this continues it", newest.ID, to.ID)})
	}
	if to.Result != history.Applied {
		text := fmt.Sprintf("run %s did not succeed (%s)", to.ID, to.Result)
		if len(to.Failed) > 0 {
			text += ": it did not apply " + strings.Join(to.Failed, ", ")
		}
		report(event.Warned{Ref: o.parent, Text: text})
	}
	fmt.Fprintln(in.Streams.ErrOut, format.Fit("rolling back to run ", fmt.Sprintf("%s from %s, by %s", to.ID, to.Started.Format(time.RFC3339), to.Who), width))
	manifests, err := keeper.Manifests(ctx, to, o.predictor.Manager)
	return to, manifests, err
}

func textOf(manifests []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for _, u := range manifests {
		text, err := json.Marshal(u.Object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s\n", text)
	}
	return out.Bytes(), nil
}

func (o *rollbackOptions) confirmed(ctx context.Context, streams genericiooptions.IOStreams, digest string) error {
	switch {
	case o.confirm == digest, o.yes && o.confirm == "":
		return nil
	case o.confirm != "":
		return o.unconfirmed("--confirm="+o.confirm+" does not match what is shown",
			"review it, and confirm it with --confirm="+digest)
	case !verb.CanAsk(streams):
		return o.unconfirmed("a rollback needs confirmation, but there is no terminal",
			"confirm these changes with --confirm="+digest+", or use --yes")
	case o.output != output.Table: // The user has not seen the changes.
		return o.unconfirmed("a rollback needs confirmation, and -o "+o.output+" never prompts",
			"confirm these changes with --confirm="+digest+", or use --yes")
	}
	yes, err := verb.Ask(ctx, streams, "Roll back?")
	if err == nil && !yes {
		return o.unconfirmed("the answer was no", "")
	}
	return err
}

func (o *rollbackOptions) unconfirmed(why, advice string) error {
	return verb.Unconfirmed(advice, "%s: nothing was done: %s", o.parent, why)
}
