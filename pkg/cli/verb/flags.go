package verb

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// NoArgs refuses positional arguments: most often a file without -f.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flags().Lookup("filename") == nil {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return fmt.Errorf("unexpected argument %q: manifests are named with -f or -k", args[0])
}

// dryRunAlone is the value of --dry-run without a value, as in kubectl.
const dryRunAlone = "unchanged"

// DryRunFlag adds --dry-run. Without a value it means client, as in kubectl, with a warning.
func DryRunFlag(flags *pflag.FlagSet, dryRun *string, usage string) {
	flags.StringVar(dryRun, "dry-run", "none", usage)
	flags.Lookup("dry-run").NoOptDefVal = dryRunAlone
}

// DryRunOf reads --dry-run.
func DryRunOf(text string) (object.DryRun, error) {
	switch text {
	case "none":
		return object.DryRunNone, nil
	case "server":
		return object.DryRunServer, nil
	case "client", dryRunAlone:
		return object.DryRunClient, nil
	default:
		return "", fmt.Errorf("--dry-run must be none, server or client, not %q", text)
	}
}

// FlagError says which flag an error is about; nil of none.
func FlagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// UsualTimeout is how long a verb waits for an object by default.
const UsualTimeout = 5 * time.Minute

// ToleratedOutage is how long deletions that are under way let an API server be away.
const ToleratedOutage = 5 * time.Minute
