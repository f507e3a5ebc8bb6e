package cli

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/printer"
)

type diffFlags struct {
	input
	predictFlags
	output string
}

type diffOptions struct {
	inputOptions
	engine  diff.Engine
	printer printer.Options
}

func newDiff(c *connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:   "diff (-f FILENAME | -k DIRECTORY)",
		Short: "Show what apply would change of what you own",
		Long: `Show what apply would change, as the server would do it, and only of the fields
that you own or would own. A contested field is marked with its owner.

KUBECTL_EXTERNAL_DIFF names another program, with its arguments, to show it.

Exit status: 0 nothing would change, 1 something would, 2 could not tell.`,
		Example: `  # What would change
  kubectl k8sconnect diff -f manifests/

  # With a diff program of your own
  KUBECTL_EXTERNAL_DIFF="dyff between --omit-header" kubectl k8sconnect diff -f web.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := flags.toOptions(c, streams)
			if err != nil {
				return err
			}
			ctx, cancel, err := c.run(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			return o.run(ctx, c, streams)
		},
	}
	flags.input.add(cmd.Flags())
	flags.predictFlags.add(cmd.Flags())
	cmd.Flags().StringVarP(&flags.output, "output", "o", "table", "table, json, yaml, name or stream")
	return cmd
}

func (f *diffFlags) toOptions(c *connection, streams genericiooptions.IOStreams) (*diffOptions, error) {
	in, err := f.input.toOptions(c, streams)
	if err != nil {
		return nil, err
	}
	o := &diffOptions{inputOptions: in}
	if o.engine.Predictor, err = f.predictFlags.toPredictor(); err != nil {
		return nil, err
	}
	if o.printer, err = printing(c, streams, f.output); err != nil {
		return nil, err
	}
	o.printer.External, err = externalDiff(streams)
	return o, err
}

func (o *diffOptions) run(ctx context.Context, c *connection, streams genericiooptions.IOStreams) error {
	if err := o.read(ctx, streams); err != nil {
		return err
	}
	o.printer.Run = newRun()
	out, err := printer.ForDiff(o.printer)
	if err != nil {
		return err
	}
	err = o.work(ctx, c, out.Print)
	return finish(err, out.Close(ctx))
}

// work does the run, telling emit of it.
func (o *diffOptions) work(ctx context.Context, c *connection, emit func(event.Event)) error {
	const pace = 0 // as the server allows
	client, err := c.connect(o.printer.Run, pace, emit)
	if err != nil {
		return err
	}
	p, err := o.plan(ctx, client, o.engine.Predictor, emit)
	if err != nil {
		return err
	}
	o.engine.Server, o.engine.Emit = client, emit
	return o.engine.Run(ctx, p)
}
