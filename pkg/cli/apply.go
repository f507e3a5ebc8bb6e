package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

type applyFlags struct {
	input
	predictFlags
	awaitFlags
	strictFlags
	dryRun      string
	goOn        bool
	serverSide  bool
	awaitKinds  time.Duration
	concurrency int
	output      string
}

type applyOptions struct {
	inputOptions
	strict      strictFlags
	engine      apply.Engine
	awaited     awaited
	concurrency int
	// printed: the manifests are put in order and printed, and nothing else is done.
	printed bool
	run     string
	out     *printer.Printer
}

func newApply(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "apply (-f FILENAME | -k DIRECTORY)",
		Short: "Apply manifests, and explain every conflict field by field",
		Long: `Apply manifests by server-side apply, in the order in which they need each
other. Nothing is written in a phase that has a conflict, nor in those after it;
each contested field is shown with both values, its owners, and the ways out.`,
		Example: `  # Apply a folder; what would not change is not written
  kubectl k8sconnect apply -f manifests/

  # Leave the replicas to the autoscaler, take the image back
  kubectl k8sconnect apply -f web.yaml \
    --yield deployment.apps/web:.spec.replicas \
    --take '.spec.template.spec.containers[name="app"].image'

  # See what would happen, as the server would do it
  kubectl k8sconnect apply -f web.yaml --dry-run=server

  # Put manifests in order for a machine's configuration, without a server
  kubectl k8sconnect apply -f addons/ --dry-run=client -o manifests`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	flags.input.add(cmd)
	flags.predictFlags.add(cmd.Flags())
	flags.awaitFlags.add(cmd)
	cmd.Flags().StringVar(&flags.dryRun, "dry-run", "none",
		"none, server (ask the server what would happen) or client (only report what would be sent)")
	cmd.Flags().BoolVar(&flags.goOn, "continue-on-conflict", false,
		"Leave out objects in conflict and what needs them, apply the rest, and exit with 1")
	cmd.Flags().DurationVar(&flags.awaitKinds, "await-kinds", 0,
		"How long to wait for kinds that an operator installs later")
	cmd.Flags().Lookup("await-kinds").NoOptDefVal = "5m"
	flags.strictFlags.add(cmd.Flags())
	cmd.Flags().IntVar(&flags.concurrency, "concurrency", 0,
		"Upper bound on requests under way at once; the pace adapts to the server below it")
	outputFlag(cmd, &flags.output, "; or, of the objects themselves, "+output.Objects+", "+output.ObjectsJSON+", "+output.ObjectsKYAML+", "+
		output.JSONPath+"=TEMPLATE or "+output.GoTemplate+"=TEMPLATE; with --dry-run=client, "+output.Manifests+
		": those of the input, in order, without a server")
	cmd.Flags().BoolVar(&flags.serverSide, "server-side", true, "Always on; accepted for compatibility with kubectl")
	_ = cmd.Flags().MarkHidden("server-side") // It only fails for a flag that there is not.
	return cmd
}

func (f *applyFlags) toOptions(in invocation) (*applyOptions, error) {
	input, inErr := f.input.toOptions(in.streams)
	predictor, predictorErr := f.toPredictor()
	awaited, awaitedErr := f.toAwaited(in.cmd.Flags(), isUnattended(in.streams))
	dryRun, dryRunErr := dryRunOf(f.dryRun)
	print, printErr := printing(in.Connection, in.streams, f.output)
	print.PastConflicts = f.goOn
	print.DryRun, print.Unasked = dryRun != object.DryRunNone, dryRun == object.DryRunClient
	out, outErr := printer.ForApply(print)
	o := &applyOptions{
		inputOptions: input,
		strict:       f.strictFlags,
		engine:       apply.Engine{Predictor: predictor, DryRun: dryRun, AwaitKinds: f.awaitKinds, PastConflicts: f.goOn, Objects: output.IsOfObjects(f.output)},
		awaited:      awaited,
		concurrency:  f.concurrency,
		printed:      f.output == output.Manifests,
		run:          print.Run,
		out:          out,
	}
	var concurrencyErr, kindsErr, sideErr error
	if !f.serverSide {
		sideErr = errors.New("--server-side=false: there is no client-side apply here; kubectl apply has it")
	}
	if f.output == output.Manifests && dryRun != object.DryRunClient {
		dryRunErr = errors.Join(dryRunErr, errNothingApplied)
	}
	if f.concurrency < 0 {
		concurrencyErr = errors.New("--concurrency must not be negative")
	}
	if f.awaitKinds < 0 {
		kindsErr = errors.New("--await-kinds must not be negative")
	}
	return o, errors.Join(inErr, predictorErr, awaitedErr, dryRunErr, concurrencyErr, kindsErr, sideErr, printErr, flagError("-o", outErr), in.Check())
}

func (o *applyOptions) execute(ctx context.Context, in invocation) error {
	return o.strict.end(o.apply(ctx, in), in.Warned)
}

func (o *applyOptions) apply(ctx context.Context, in invocation) error {
	if err := o.read(ctx, in.Connection, in.streams, o.out.Print); err != nil {
		return finish(err, o.out.Close(ctx))
	}
	if o.printed {
		return o.incomplete(finish(o.print(ctx, in.Connection, in.streams)))
	}
	err := o.work(ctx, in.cmd.Context(), in.Connection)
	return o.incomplete(finish(err, o.out.Close(ctx)))
}

// unfinished tells the end of a run that had too little time from one of which
// nothing can be said. A run that was out of time before there was a plan has told
// nothing, and is no such end.
func unfinished(err error) error {
	if over, ok := errors.AsType[*connection.OverError](err); ok {
		return &unfinishedError{over}
	}
	return err
}

// work does the run, telling the printer of it. ctx ends with the run's --timeout,
// patient does not.
func (o *applyOptions) work(ctx, patient context.Context, c *connection.Connection) error {
	client, err := c.Connect(ctx, o.run, o.concurrency, o.out.Print)
	if err != nil {
		return err
	}
	p, err := o.plan(ctx, c, client, o.engine.Predictor, o.out.Print)
	if err != nil {
		return err
	}
	if err := o.awaited.check(ctx, client, p); err != nil {
		return err
	}
	o.engine.Predictor.Schema = published.ByKind(client.SchemaOnce(ctx))
	until, _ := ctx.Deadline()
	o.engine.Wait = o.awaited.gate(patient, client, until, c.Vault.Text, o.out.Print)
	o.engine.Server, o.engine.Scope, o.engine.Emit = client, o.scope, o.out.Print
	return unfinished(o.engine.Run(ctx, p))
}
