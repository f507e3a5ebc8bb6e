package verb

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
)

// Invocation is one call of a verb.
type Invocation struct {
	*connection.Connection
	Streams genericiooptions.IOStreams
	Cmd     *cobra.Command
	Args    []string
}

// Options are what the flags and arguments of a call come to.
type Options interface {
	// Execute runs the verb. ctx ends with the run's --timeout.
	Execute(ctx context.Context, in Invocation) error
}

// Runner is how every verb runs: flags and arguments become options, or the call is
// misused; then the options are executed.
func Runner[O Options](c *connection.Connection, streams genericiooptions.IOStreams, toOptions func(Invocation) (O, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		in := Invocation{c, streams, cmd, args}
		o, err := toOptions(in)
		if err != nil {
			return Usage(cmd, err)
		}
		if f := cmd.Flags().Lookup("dry-run"); f != nil && f.Value.String() == dryRunAlone {
			_, _ = fmt.Fprintln(streams.ErrOut, "warning: --dry-run without a value means --dry-run=client; --dry-run=server asks the server")
		}
		ctx, cancel, err := c.Begin(cmd.Context(), streams.ErrOut)
		if err != nil {
			return err
		}
		defer cancel()
		return o.Execute(ctx, in)
	}
}
