package verb

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// NoArgs refuses positional arguments: most often a file without -f.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if f := cmd.Flags().Lookup("dry-run"); f != nil && strings.HasPrefix(f.Value.String(), "-") {
		return errNoDryRun
	}
	if cmd.Flags().Lookup("filename") == nil {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return fmt.Errorf("unexpected argument %q: manifests are named with -f or -k", args[0])
}

// errNoDryRun: the flag was given without its value.
var errNoDryRun error = &object.HintedError{
	Err:    errors.New("--dry-run needs a value"),
	Advice: "--dry-run=server asks the server what would happen, --dry-run=client only compares",
}

// DryRunOf reads --dry-run.
func DryRunOf(text string) (object.DryRun, error) {
	switch text {
	case "none":
		return object.DryRunNone, nil
	case "server":
		return object.DryRunServer, nil
	case "client":
		return object.DryRunClient, nil
	default:
		if strings.HasPrefix(text, "-") { // It took the next flag for its value.
			return "", errNoDryRun
		}
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
