package verb

import (
	"io"
	"sync"
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
