package sets

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
)

// Asking returns what asks a person to confirm a prune; nil where nobody is there. pause
// holds what else is drawn.
func Asking(streams genericiooptions.IOStreams, pause func(func())) func(context.Context, applyset.Decision, string) (bool, error) {
	if !verb.CanAsk(streams) {
		return nil
	}
	return func(ctx context.Context, d applyset.Decision, doubt string) (yes bool, err error) {
		answer := make(chan string, 1)
		pause(func() {
			const shown = 20
			for _, m := range d.Doomed[:min(shown, len(d.Doomed))] {
				fmt.Fprintln(streams.ErrOut, "  "+layout.Plain(m.Ref.String()))
			}
			if more := len(d.Doomed) - shown; more > 0 {
				fmt.Fprintf(streams.ErrOut, "  and %d more\n", more)
			}
			fmt.Fprintf(streams.ErrOut, "%s. Go on, and delete them? (yes/no): ", layout.Plain(doubt))
			go func() {
				line, _ := bufio.NewReader(streams.In).ReadString('\n') // No answer is no.
				answer <- strings.ToLower(strings.TrimSpace(line))
			}()
			select {
			case <-ctx.Done():
				err = context.Cause(ctx)
			case said := <-answer:
				yes = said == "yes" || said == "y"
			}
		})
		return yes, err
	}
}
