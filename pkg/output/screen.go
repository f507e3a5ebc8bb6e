package output

import (
	"fmt"
	"io"
	"strings"
)

// Screen keeps results, notes and the status line from mixing when they share a terminal.
type Screen struct {
	out, err io.Writer
	rows     int   // lines of the status; 0 while it is hidden
	Failure  error // the first write error
	heading  string
}

// Heading sets a heading that is written to stderr above the next text. It replaces a heading that
// has not been written yet.
func (s *Screen) Heading(text string) { s.heading = text }

// Result writes text to stdout in one piece.
func (s *Screen) Result(text string) {
	if text == "" || s.Failure != nil {
		return
	}
	s.head()
	_, s.Failure = io.WriteString(s.out, text)
}

// Note writes lines to stderr. It ignores errors, since there is nowhere to report them.
func (s *Screen) Note(text string) {
	s.head()
	_, _ = io.WriteString(s.err, text)
}

func (s *Screen) head() {
	s.Clear()
	_, _ = io.WriteString(s.err, s.heading)
	s.heading = ""
}

// notes returns a screen that writes results as notes of this screen.
func (s *Screen) notes() *Screen {
	return &Screen{out: noteWriter{s}, err: s.err}
}

type noteWriter struct{ screen *Screen }

func (w noteWriter) Write(text []byte) (int, error) {
	w.screen.Note(string(text))
	return len(text), nil
}

// Draw replaces the status: the line at the bottom and the lines above it. No line may be wider
// than the terminal.
func (s *Screen) Draw(line string, above ...string) {
	if line == "" {
		s.Clear()
		return
	}
	if s.rows > len(above)+1 { // Otherwise old lines would remain.
		s.Clear()
	}
	var b strings.Builder
	b.WriteString(s.top())
	for _, one := range above {
		b.WriteString(one + "\x1b[K\n")
	}
	b.WriteString(line + "\x1b[K")
	_, _ = io.WriteString(s.err, b.String())
	s.rows = len(above) + 1
}

// Clear erases the status.
func (s *Screen) Clear() {
	if s.rows == 0 {
		return
	}
	rest := "\x1b[K"
	if s.rows > 1 {
		rest = "\x1b[J" + rest // to the end of the screen
	}
	_, _ = io.WriteString(s.err, s.top()+rest)
	s.rows = 0
}

// top returns the escape codes that move the cursor to the start of the status.
func (s *Screen) top() string {
	if s.rows < 2 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", s.rows-1)
}
