package verb

import (
	"context"
	"os"
	"os/exec"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// ExternalDiff returns the diff program that KUBECTL_EXTERNAL_DIFF names; nil if it names none.
func ExternalDiff(streams genericiooptions.IOStreams) (*output.External, error) {
	external, err := output.ParseExternal(os.Getenv("KUBECTL_EXTERNAL_DIFF"))
	if err != nil || external == nil {
		return nil, err
	}
	external.Run = func(ctx context.Context, name string, args []string) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, connection.Bare(streams.Out), connection.Bare(streams.ErrOut)
		return cmd.Run()
	}
	return external, nil
}
