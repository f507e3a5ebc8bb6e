// Package verb runs every verb: it parses flags into options, executes the options, and returns an
// exit status. Start with [Runner].
package verb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// Invocation is one invocation of a verb.
type Invocation struct {
	*connection.Connection
	Streams genericiooptions.IOStreams
	Cmd     *cobra.Command
	Args    []string
}

// Options are the parsed flags and arguments of an invocation.
type Options interface {
	// Execute runs the verb. ctx ends when --timeout expires.
	Execute(ctx context.Context, in Invocation) error
}

// Runner returns the function that runs a verb.
func Runner[O Options](c *connection.Connection, streams genericiooptions.IOStreams, toOptions func(Invocation) (O, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		in := Invocation{c, streams, cmd, args}
		o, err := toOptions(in)
		if err != nil {
			return Usage(cmd, err)
		}
		if f := cmd.Flags().Lookup("dry-run"); f != nil && f.Value.String() == dryRunAlone {
			_, _ = fmt.Fprintln(streams.ErrOut, "warning: --dry-run without a value means --dry-run=client; use --dry-run=server to ask the server")
		}
		ctx, cancel, err := c.Begin(cmd.Context(), streams.ErrOut)
		if err != nil {
			return err
		}
		defer cancel()
		return o.Execute(ctx, in)
	}
}

// OutputFlag adds -o. The usage lists the formats, then has the sentences in
// more, or what continues the list after a comma.
func OutputFlag(cmd *cobra.Command, format *string, formats []string, more string) {
	CompletedOutputFlag(cmd, format, formats, more, nil)
}

// CompletedOutputFlag is like OutputFlag, with a completion that offers more than the formats.
func CompletedOutputFlag(cmd *cobra.Command, format *string, formats []string, more string, complete cobra.CompletionFunc) {
	usage := "Output format: " + output.ListOf(formats)
	if more != "" && !strings.HasPrefix(more, ",") {
		usage += ". "
	}
	cmd.Flags().StringVarP(format, "output", "o", output.Table, usage+more)
	if complete != nil {
		help.Complete(cmd, "output", complete)
	}
	help.Words(cmd, "output", formats...)
}

// IsResult reports whether the run handled every object and reported the results as events.
func IsResult(ran error) bool {
	end := Finish(ran, nil)
	return errors.Is(end, ErrNo) || errors.Is(end, ErrUnknown)
}

// Evaluated reports whether an apply or diff compared all objects with the server's.
func Evaluated(ran error) bool {
	var end interface{ Evaluated() bool }
	return ran == nil || errors.As(ran, &end) && end.Evaluated()
}

// Finish returns the error of a verb, given the errors of its engine and its printer. An engine's
// error has the method Undetermined if the engine has reported the results of all objects as events.
func Finish(ran, closed error) error {
	if closed != nil && !Unread(closed) {
		return closed
	}
	var end interface{ Undetermined() bool }
	if !errors.As(ran, &end) {
		return ran
	}
	for _, one := range Flatten(ran) {
		if errors.As(one, &end) && end.Undetermined() {
			return ErrUnknown
		}
	}
	return ErrNo
}

// Sink keeps the first write error of the output, because code that prints help ignores errors.
type Sink struct {
	io.Writer

	mu  sync.Mutex
	err error
}

func (s *Sink) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
	}
	return n, err
}

func (s *Sink) Unwrap() io.Writer { return s.Writer }

// Lost returns the first write error; nil if there was none.
func (s *Sink) Lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Ask asks a question, and reports whether the answer is yes. The end of the input counts as no. It
// returns an error if ctx ends first.
func Ask(ctx context.Context, streams genericiooptions.IOStreams, question string) (bool, error) {
	message, _, err := Line(ctx, streams, question+" (yes/no): ")
	return message == "yes" || message == "y", err
}

// Line prompts for a line, and returns it trimmed and in lower case. The result more is false at
// the end of the input. Line returns an error if ctx ends first.
func Line(ctx context.Context, streams genericiooptions.IOStreams, prompt string) (line string, more bool, err error) {
	fmt.Fprint(streams.ErrOut, prompt)
	type read struct {
		line string
		err  error
	}
	answer := make(chan read, 1)
	go func() {
		line, err := bufio.NewReader(streams.In).ReadString('\n')
		answer <- read{strings.ToLower(strings.TrimSpace(line)), err}
	}()
	select {
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	case message := <-answer:
		return message.line, message.err == nil, context.Cause(ctx)
	}
}
