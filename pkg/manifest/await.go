package manifest

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// moment is the silence after which the wait is reported.
	moment = time.Second
	// longestSilence is the silence after which reading fails: of standard input or
	// a pipe since its last byte, of a kustomization until it is built.
	longestSilence = 5 * time.Minute
)

// heard records when an input last produced something.
type heard struct{ nanos atomic.Int64 }

func (h *heard) now() { h.nanos.Store(time.Now().UnixNano()) }

func (h *heard) at() time.Time { return time.Unix(0, h.nanos.Load()) }

// hearing is a reader that records when bytes arrive.
type hearing struct {
	io.Reader
	heard *heard
}

func (r hearing) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.heard.now()
	return n, err
}

// patience says how to wait for an input that may block.
type patience struct {
	// name is what errors call the input, what is what sentences call it.
	name, what string
	most       time.Duration
	tell       func(what string, since time.Time, within time.Duration)
}

// await calls read and waits until it returns, ctx ends, or the input has been
// silent for too long. It reports silence after a moment. Only ctx can stop read
// itself: otherwise it runs until it returns or the process ends.
func (p patience) await(ctx context.Context, read func(context.Context, *heard) ([]byte, error)) ([]byte, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type answer struct {
		text []byte
		err  error
	}
	h := &heard{}
	h.now()
	done := make(chan answer, 1)
	go func() {
		text, err := read(ctx, h)
		done <- answer{text, err}
	}()
	var told time.Time
	for {
		since := h.at()
		next := moment
		if told.Equal(since) {
			next = p.most
		}
		timer := time.NewTimer(time.Until(since.Add(next)))
		select {
		case a := <-done:
			timer.Stop()
			return a.text, a.err
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
		switch {
		case !h.at().Equal(since):
		case time.Since(since) >= p.most:
			return nil, &inputError{where: p.name, text: "no input for " + strings.TrimSuffix(p.most.String(), "0s")}
		default:
			told = since
			if p.tell != nil {
				p.tell(p.what, since, p.most)
			}
		}
	}
}
