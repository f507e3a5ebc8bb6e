package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Exit status, the same for every verb.
const (
	exitYes     = 0 // applied, no difference, met, gone
	exitNo      = 1 // conflict, refused, differs, not met in time, still stuck
	exitUnknown = 2 // usage, no server, no permission
)

// What a verb returns when it has reported everything already.
var (
	errNo      = errors.New("no")
	errUnknown = errors.New("could not tell")
)

// Main runs one call of the plugin and returns its exit status. args begins
// with the program's name.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	cmd := newRoot(filepath.Base(args[0]), streams)
	cmd.SetArgs(args[1:])
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitYes
	case errors.Is(err, errNo):
		return exitNo
	case errors.Is(err, errUnknown):
		return exitUnknown
	default:
		reportError(streams, err)
		return exitUnknown
	}
}

// reportError prints errors, one a line, each with its hint under it.
func reportError(streams genericiooptions.IOStreams, err error) {
	for _, one := range flatten(err) {
		fmt.Fprintf(streams.ErrOut, "error: %v\n", one)
		var hinted interface{ Hint() string }
		if errors.As(one, &hinted) && hinted.Hint() != "" {
			fmt.Fprintf(streams.ErrOut, "  hint: %s\n", hinted.Hint())
		}
	}
}

// flatten takes errors.Join apart, so that each error gets a line of its own.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // the outermost error only: inside a wrapped one the text belongs together
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, flatten(one)...)
	}
	return all
}

func newRoot(program string, streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubectl-k8sconnect",
		Short: "Server-side apply that explains itself",
		Long: `Server-side apply that people can trust: conflicts explained field by field, a
diff of what you own as the server would really change it.

Exit status, the same for every verb: 0 yes, 1 no, 2 could not tell.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	if name, ok := strings.CutPrefix(program, "kubectl-"); ok {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl " + name}
	}
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)

	c := newConnection()
	c.addFlags(cmd.PersistentFlags())
	cmd.AddCommand(
		newApply(c, streams),
		newDiff(c, streams),
		newVersion(c, streams),
	)
	return cmd
}
