package sets

import (
	"context"
	"fmt"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// Asking returns a function that asks the user to confirm a prune; nil if no user can
// answer. pause suspends other drawing.
func Asking(streams genericiooptions.IOStreams, pause func(func())) func(context.Context, applyset.Decision, string) (bool, error) {
	if !verb.CanAsk(streams) {
		return nil
	}
	return func(ctx context.Context, d applyset.Decision, doubt string) (yes bool, err error) {
		pause(func() {
			const shown = 20
			for _, m := range d.Doomed[:min(shown, len(d.Doomed))] {
				fmt.Fprintln(streams.ErrOut, "  "+format.Plain(m.Ref.String()))
			}
			if more := len(d.Doomed) - shown; more > 0 {
				fmt.Fprintf(streams.ErrOut, "  and %d more\n", more)
			}
			yes, err = verb.Ask(ctx, streams, format.Plain(doubt)+". Go on, and delete them?")
		})
		return yes, err
	}
}
