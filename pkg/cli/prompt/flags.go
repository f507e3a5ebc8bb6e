package prompt

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// Flags are those about questions.
type Flags struct{ noInput bool }

// Add adds the flag to a command's.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noInput, "no-input", false, "Ask nothing, as without a terminal: conflicts stay conflicts, and what needs a confirmation is refused")
}

// CanAsk reports whether a user is there to answer: one at a terminal who has not turned
// questions off, and not a pipeline.
func (f *Flags) CanAsk(in verb.Invocation) bool {
	return !f.noInput && !isInCI(os.Getenv) && verb.CanAsk(in.Streams)
}

// ToTerminal returns what asks about conflicts; nil where nothing may be asked: because no user
// can answer, standard input is a manifest, the results are for a program, or nothing is
// written.
func (f *Flags) ToTerminal(in verb.Invocation, format string, filenames []string, dryRun object.DryRun, pause func(func())) *Terminal {
	if !f.CanAsk(in) || dryRun != object.DryRunNone || format != output.Table || slices.Contains(filenames, "-") {
		return nil
	}
	return on(in, pause)
}

// isInCI reports whether the environment says that a machine runs us, as that of every usual
// pipeline does. Some of those have a terminal, and no user at it.
func isInCI(getenv func(string) string) bool {
	switch strings.ToLower(getenv("CI")) {
	case "", "0", "false":
		return false
	default:
		return true
	}
}
