package printer

import (
	"io"
	"sync"
	"time"
)

// screen keeps results, notes and the status line from running into each other
// where they share a terminal.
type screen struct {
	out, err io.Writer
	drawn    bool
	failure  error // the first of writing a result
}

// result writes finished text to stdout, in one piece.
func (s *screen) result(text string) {
	if text == "" || s.failure != nil {
		return
	}
	s.clear()
	_, s.failure = io.WriteString(s.out, text)
}

// note writes lines to stderr. There is nowhere to tell that stderr is closed.
func (s *screen) note(text string) {
	s.clear()
	_, _ = io.WriteString(s.err, text)
}

// notes returns a screen whose results are notes of this one.
func (s *screen) notes() *screen {
	return &screen{out: noteWriter{s}, err: s.err}
}

// noteWriter is stderr, kept apart from the status line.
type noteWriter struct{ screen *screen }

func (w noteWriter) Write(text []byte) (int, error) {
	w.screen.note(string(text))
	return len(text), nil
}

// draw replaces the status line.
func (s *screen) draw(line string) {
	if line == "" {
		s.clear()
		return
	}
	// Back to the first column, the line, and whatever was there before it goes.
	_, _ = io.WriteString(s.err, "\r"+line+"\x1b[K")
	s.drawn = true
}

func (s *screen) clear() {
	if s.drawn {
		_, _ = io.WriteString(s.err, "\r\x1b[K")
		s.drawn = false
	}
}

// redraw calls a function several times a second until it is stopped. Its first
// call comes late enough that short runs show no status line at all.
type redraw struct {
	quit chan struct{}
	done sync.WaitGroup
}

func startRedraw(draw func()) *redraw {
	r := &redraw{quit: make(chan struct{})}
	r.done.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				draw()
			case <-r.quit:
				return
			}
		}
	})
	return r
}

// stop returns when the last call is over.
func (r *redraw) stop() {
	if r != nil {
		close(r.quit)
		r.done.Wait()
	}
}
