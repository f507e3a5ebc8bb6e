package output

import "io"

// Screen keeps results, notes and the status line from running into each other
// where they share a terminal.
type Screen struct {
	out, err io.Writer
	drawn    bool
	Failure  error // the first of writing a result
}

// Result writes finished text to stdout, in one piece.
func (s *Screen) Result(text string) {
	if text == "" || s.Failure != nil {
		return
	}
	s.Clear()
	_, s.Failure = io.WriteString(s.out, text)
}

// Note writes lines to stderr. There is nowhere to tell that stderr is closed.
func (s *Screen) Note(text string) {
	s.Clear()
	_, _ = io.WriteString(s.err, text)
}

// notes returns a screen whose results are notes of this one.
func (s *Screen) notes() *Screen {
	return &Screen{out: noteWriter{s}, err: s.err}
}

// noteWriter is stderr, kept apart from the status line.
type noteWriter struct{ screen *Screen }

func (w noteWriter) Write(text []byte) (int, error) {
	w.screen.Note(string(text))
	return len(text), nil
}

// Draw replaces the status line.
func (s *Screen) Draw(line string) {
	if line == "" {
		s.Clear()
		return
	}
	// Back to the first column, the line, and whatever was there before it goes.
	_, _ = io.WriteString(s.err, "\r"+line+"\x1b[K")
	s.drawn = true
}

// Clear takes the status line away.
func (s *Screen) Clear() {
	if s.drawn {
		_, _ = io.WriteString(s.err, "\r\x1b[K")
		s.drawn = false
	}
}
