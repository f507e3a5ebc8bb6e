package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
)

type diffFlags struct {
	input      input.Flags
	choices    input.ChoiceFlags
	config     config.Flags
	strict     verb.StrictFlags
	set        sets.Flags
	output     string
	serverSide bool
}

type diffOptions struct {
	input  input.Options
	strict verb.StrictFlags
	engine diff.Engine
	rules  *config.Rules
	set    sets.Options
	run    string
	// found receives the plan; nil if the caller does not need it. digestOf lists what the plan's
	// digest covers in addition to the objects; if it is nil, no digest is printed. Without found,
	// digestOf is not used.
	found    *review.Plan
	digestOf []string
	plan     *review.Plan
	out      *printer.Printer
}

func newDiff(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:   "diff (-f FILENAME | -k DIRECTORY)",
		Short: "Show what apply would change in the fields that you own",
		Long: `Ask the server how apply would change the fields that you own or would own, and
show the result. A contested field is marked with its owner.

To show the changes with another program, set KUBECTL_EXTERNAL_DIFF to its
command line.

Exit status: 0 nothing would change, 1 something would, 2 could not tell.`,
		Example: `  # Show what apply would change
  kubectl k8sconnect diff -f manifests/

  # Use another diff program
  export KUBECTL_EXTERNAL_DIFF="dyff between --omit-header"
  kubectl k8sconnect diff -f web.yaml`,
		Args:              verb.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	flags.input.Add(cmd)
	flags.choices.Add(cmd.Flags())
	flags.config.Add(cmd)
	flags.set.Add(cmd.Flags(), false)
	flags.strict.Add(cmd.Flags())
	addServerSide(cmd.Flags(), &flags.serverSide)
	verb.OutputFlag(cmd, &flags.output, "; or "+output.Markdown+", for a pull request", output.Markdown)
	return cmd
}

func (f *diffFlags) toOptions(in verb.Invocation) (*diffOptions, error) {
	input, inErr := f.input.ToOptions(in.Streams)
	settings, settingsErr := f.config.Read(in, input.Files.Filenames, input.Files.Kustomize)
	predictor, predictorErr := f.choices.ToPredictor()
	rules := config.Ruled(settings, in.Verbosity > 0, &predictor)
	set, setErr := f.set.ToOptions(in.Cmd.Flags().Changed, f.input.Selector != "")
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	var externalErr error
	print.External, externalErr = externalDiff(in.Streams)
	out, outErr := printer.ForDiff(print)
	o := &diffOptions{
		input: input, strict: f.strict, engine: diff.Engine{Predictor: predictor}, rules: rules, set: set, run: print.Run, out: out,
	}
	o.input.Files.Empty = set.Prune
	return o, errors.Join(inErr, settingsErr, predictorErr, setErr, serverSideErr(f.serverSide), printErr, externalErr, verb.FlagError("-o", outErr), in.Check())
}

func externalDiff(streams genericiooptions.IOStreams) (*output.External, error) {
	external, err := output.ParseExternal(os.Getenv("KUBECTL_EXTERNAL_DIFF"))
	if err != nil || external == nil {
		return nil, err
	}
	external.Run = func(ctx context.Context, name string, args []string) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, connection.Bare(streams.Out), connection.Bare(streams.ErrOut)
		return cmd.Run()
	}
	return external, nil
}

func (o *diffOptions) Execute(ctx context.Context, in verb.Invocation) error {
	return o.strict.End(o.diff(ctx, in), in.Warned)
}

func (o *diffOptions) diff(ctx context.Context, in verb.Invocation) error {
	o.input.Prefetch = o.set.Name == ""
	if err := o.input.Read(ctx, in.Connection, in.Streams, o.out.Print); err != nil {
		return verb.Finish(err, o.out.Close(ctx))
	}
	err := o.work(ctx, in.Connection)
	defer o.rules.Explain(in.Streams.ErrOut)
	return o.input.Incomplete(verb.Finish(err, o.out.Close(ctx)))
}

func (o *diffOptions) emit(e event.Event) {
	o.plan.See(e)
	o.out.Print(e)
}

// reviewed prints the digest, unless it is unknown how some object would change.
func (o *diffOptions) reviewed(found error, run *sets.Run) error {
	of := o.digestOf
	if o.found == nil {
		of = reviewedOf(o.engine.Predictor, run)
	}
	if of != nil && (found == nil || errors.Is(found, diff.ErrDiffers)) {
		end := event.Reviewed{Digest: o.plan.Digest("", of...)}
		for _, outcome := range o.plan.Outcomes() {
			end.Objects = append(end.Objects, event.ReviewedObject{Ref: outcome.Ref, Digest: outcome.Digest()})
		}
		o.out.Print(end)
	}
	return found
}

func (o *diffOptions) work(ctx context.Context, c *connection.Connection) error {
	client, err := c.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	p, err := o.input.Plan(ctx, c, client, o.engine.Predictor, o.out.Print)
	if err != nil {
		return err
	}
	done := o.input.Types(ctx, client, p, &o.engine.Predictor)
	defer done()
	o.engine.Prefetched = o.input.Prefetched()
	if o.plan = o.found; o.plan == nil {
		o.plan = &review.Plan{}
	}
	o.engine.Server, o.engine.Emit, o.engine.Unmasked = client, o.emit, o.plan.SeeSecret
	o.engine.Judged = func(p *predict.Prediction) { o.plan.Learn(p.Item.Object, p.Live) }
	foresight := newForesight(o.out.Print, o.set.Prune, p)
	leavers := sets.LeavingMembers{Leave: o.set.Leave}
	o.engine.Seen = foresight.see
	if o.set.Name == "" {
		o.engine.Predictor.Carry, o.engine.Seen = leavers.Carry(), seeing(foresight.see, leavers.See)
	}
	run := func(ctx context.Context) error {
		err := o.rules.Watch(p, o.input.Beside(ctx, client), o.out.Print, o.engine.Run(ctx, p))
		foresight.report(ctx, p, client.NoRetry())
		leavers.Warn(ctx, client, true, o.out.Print)
		return err
	}
	if o.set.Name != "" {
		return o.diffSet(ctx, c, client, p, run)
	}
	return o.reviewed(run(ctx), nil)
}

func (o *diffOptions) diffSet(
	ctx context.Context, c *connection.Connection, client *client.Client, p *plan.Plan, compare func(context.Context) error,
) error {
	namespace, _, err := c.Namespace()
	if err != nil {
		return err
	}
	run := &sets.Run{
		Server: client, Namespace: namespace, DryRun: object.DryRunClient, Manager: o.engine.Predictor.Manager,
		Former: sets.Promised(client), Shown: losses(p, o.emit), Emit: o.emit,
	}
	if err := o.set.Begin(ctx, run, p); err != nil {
		return err
	}
	o.engine.Predictor.Take = append(o.engine.Predictor.Take, o.set.AdoptionChoices()...)
	o.engine.Admit = run.Admit
	compared := compare(ctx)
	if ctx.Err() != nil {
		return compared
	}
	leaves := false
	if err := run.Leaving(ctx, func(ctx context.Context, doomed []applyset.Member) error {
		leaves = true
		return sets.Show(ctx, client, doomed, o.emit)
	}); err != nil {
		return err
	}
	if compared == nil && leaves {
		compared = diff.ErrDiffers
	}
	return o.reviewed(compared, run)
}
