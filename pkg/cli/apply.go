package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/printer"
)

type applyFlags struct {
	input
	predictFlags
	dryRun      string
	concurrency int
	output      string
}

type applyOptions struct {
	inputOptions
	engine      apply.Engine
	concurrency int
	printer     printer.Options
}

func newApply(c *connection, streams genericiooptions.IOStreams) *cobra.Command {
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
    --take 'deployment.apps/web:.spec.template.spec.containers[name="app"].image'

  # See what would happen, as the server would do it
  kubectl k8sconnect apply -f web.yaml --dry-run=server`,
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
	cmd.Flags().StringVar(&flags.dryRun, "dry-run", "none",
		"none, server (ask the server what would happen) or client (only tell what would be sent)")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "unchanged"
	cmd.Flags().IntVar(&flags.concurrency, "concurrency", 0,
		"Upper bound on requests under way at once; the pace adapts to the server below it")
	cmd.Flags().StringVarP(&flags.output, "output", "o", "table", "table, json, yaml, name, stream or junit")
	return cmd
}

func (f *applyFlags) toOptions(c *connection, streams genericiooptions.IOStreams) (*applyOptions, error) {
	in, err := f.input.toOptions(c, streams)
	if err != nil {
		return nil, err
	}
	o := &applyOptions{inputOptions: in, concurrency: f.concurrency}
	if o.engine.Predictor, err = f.predictFlags.toPredictor(); err != nil {
		return nil, err
	}
	switch f.dryRun {
	case "none":
	case "server":
		o.engine.DryRun = apply.DryRunServer
	case "client":
		o.engine.DryRun = apply.DryRunClient
	default:
		return nil, fmt.Errorf("--dry-run must be none, server or client, not %q", f.dryRun)
	}
	if f.concurrency < 0 {
		return nil, errors.New("--concurrency must not be negative")
	}
	if o.printer, err = printing(c, streams, f.output); err != nil {
		return nil, err
	}
	o.printer.DryRun = o.engine.DryRun != apply.DryRunNone
	return o, nil
}

func (o *applyOptions) run(ctx context.Context, c *connection, streams genericiooptions.IOStreams) error {
	if err := o.read(ctx, streams); err != nil {
		return err
	}
	o.printer.Run = newRun()
	out, err := printer.ForApply(o.printer)
	if err != nil {
		return err
	}
	err = o.work(ctx, c, out.Print)
	return finish(err, out.Close(ctx))
}

// work does the run, telling emit of it.
func (o *applyOptions) work(ctx context.Context, c *connection, emit func(event.Event)) error {
	client, err := c.connect(o.printer.Run, o.concurrency, emit)
	if err != nil {
		return err
	}
	p, err := o.plan(ctx, client, o.engine.Predictor, emit)
	if err != nil {
		return err
	}
	o.engine.Server, o.engine.Scope, o.engine.Emit = client, o.scope, emit
	return o.engine.Run(ctx, p)
}
