package verb

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Sink keeps the first error of writing the answer: help and usage are written by code that
// looks at none, and what the mask has held back is written last of all.
type Sink struct {
	io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
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

// Unwrap returns the inner writer.
func (s *Sink) Unwrap() io.Writer { return s.Writer }

// Lost returns why some of the answer was not written, if so.
func (s *Sink) Lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Ask asks a question that ends in (yes/no), and reports whether the answer is yes; no
// answer is no. The error is why ctx ended before there was one.
func Ask(ctx context.Context, streams genericiooptions.IOStreams, question string) (bool, error) {
	said, _, err := Line(ctx, streams, question+" (yes/no): ")
	return said == "yes" || said == "y", err
}

// Line prompts for a line, and returns it in lower case without the space around it, and
// whether there can be another. The error is why ctx ended before there was a line.
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
	case said := <-answer:
		return said.line, said.err == nil, context.Cause(ctx)
	}
}
