package output

import (
	"context"
	"fmt"

	"github.com/mattn/go-shellwords"
)

// External is a diff program of the user's own, KUBECTL_EXTERNAL_DIFF.
type External struct {
	// Name of the program, and the arguments that come before the two folders.
	Name string
	Args []string
	// Run starts the program with its arguments, its output going to the
	// printer's Out, and returns when it is over. The error of a program that ran
	// has ExitCode() int, as [os/exec.ExitError].
	Run func(ctx context.Context, name string, args []string) error
}

// ParseExternal splits a command as a shell would, quotes included, and drops no word. An
// empty command is nil. Anything that only a shell can do (pipes, redirections,
// variables) is an error.
func ParseExternal(command string) (*External, error) {
	parser := shellwords.NewParser()
	words, err := parser.Parse(command)
	if err != nil {
		return nil, fmt.Errorf("KUBECTL_EXTERNAL_DIFF %q: %w", command, err)
	}
	if parser.Position >= 0 {
		return nil, fmt.Errorf("KUBECTL_EXTERNAL_DIFF %q: only a program and its arguments, no shell: quote ; & | < >", command)
	}
	if len(words) == 0 {
		return nil, nil
	}
	return &External{Name: words[0], Args: words[1:]}, nil
}
