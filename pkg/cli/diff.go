package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/mask"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

type diffFlags struct {
	input
	predictFlags
	strictFlags
	output string
}

type diffOptions struct {
	inputOptions
	strict strictFlags
	engine diff.Engine
	run    string
	out    *printer.Printer
}

func newDiff(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:   "diff (-f FILENAME | -k DIRECTORY)",
		Short: "Show what apply would change in the fields that you own",
		Long: `Show what apply would change, as the server would do it, and only of the fields
that you own or would own. A contested field is marked with its owner.

KUBECTL_EXTERNAL_DIFF names another program, with its arguments, to show it.

Exit status: 0 nothing would change, 1 something would, 2 could not tell.`,
		Example: `  # What would change
  kubectl k8sconnect diff -f manifests/

  # With a diff program of your own
  export KUBECTL_EXTERNAL_DIFF="dyff between --omit-header"
  kubectl k8sconnect diff -f web.yaml`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	flags.input.add(cmd)
	flags.predictFlags.add(cmd.Flags())
	flags.strictFlags.add(cmd.Flags())
	outputFlag(cmd, &flags.output)
	return cmd
}

func (f *diffFlags) toOptions(in invocation) (*diffOptions, error) {
	input, inErr := f.input.toOptions(in.streams)
	predictor, predictorErr := f.toPredictor()
	print, printErr := printing(in.Connection, in.streams, f.output)
	var externalErr error
	print.External, externalErr = externalDiff(in.streams)
	out, outErr := printer.ForDiff(print)
	o := &diffOptions{
		inputOptions: input,
		strict:       f.strictFlags,
		engine:       diff.Engine{Predictor: predictor},
		run:          print.Run,
		out:          out,
	}
	return o, errors.Join(inErr, predictorErr, printErr, externalErr, flagError("-o", outErr), in.Check())
}

// externalDiff returns the user's own diff program, nil if there is none.
func externalDiff(streams genericiooptions.IOStreams) (*output.External, error) {
	external, err := output.ParseExternal(os.Getenv("KUBECTL_EXTERNAL_DIFF"))
	if err != nil || external == nil {
		return nil, err
	}
	external.Run = func(ctx context.Context, name string, args []string) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, mask.Bare(streams.Out), mask.Bare(streams.ErrOut)
		return cmd.Run()
	}
	return external, nil
}

func (o *diffOptions) execute(ctx context.Context, in invocation) error {
	return o.strict.end(o.diff(ctx, in), in.Warned)
}

func (o *diffOptions) diff(ctx context.Context, in invocation) error {
	if err := o.read(ctx, in.Connection, in.streams, o.out.Print); err != nil {
		return finish(err, o.out.Close(ctx))
	}
	err := o.work(ctx, in.Connection)
	return o.incomplete(finish(err, o.out.Close(ctx)))
}

// work does the run, telling the printer of it.
func (o *diffOptions) work(ctx context.Context, c *connection.Connection) error {
	const pace = 0 // as the server allows
	client, err := c.Connect(ctx, o.run, pace, o.out.Print)
	if err != nil {
		return err
	}
	p, err := o.plan(ctx, c, client, o.engine.Predictor, o.out.Print)
	if err != nil {
		return err
	}
	o.engine.Predictor.Schema = published.ByKind(client.SchemaOnce(ctx))
	o.engine.Server, o.engine.Emit = client, o.out.Print
	return o.engine.Run(ctx, p)
}
