package cli

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
)

// invocation is one call of a verb.
type invocation struct {
	*connection.Connection
	streams genericiooptions.IOStreams
	cmd     *cobra.Command
	args    []string
}

// options are what the flags and arguments of a call come to.
type options interface {
	// execute runs the verb. ctx ends with the run's --timeout.
	execute(ctx context.Context, in invocation) error
}

// runner is how every verb runs: flags and arguments become options, or the call is
// misused; then the options are executed.
func runner[O options](c *connection.Connection, streams genericiooptions.IOStreams, toOptions func(invocation) (O, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		in := invocation{c, streams, cmd, args}
		o, err := toOptions(in)
		if err != nil {
			return usage(cmd, err)
		}
		ctx, cancel, err := c.Begin(cmd.Context(), streams.ErrOut)
		if err != nil {
			return err
		}
		defer cancel()
		return o.execute(ctx, in)
	}
}
