package manifest

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// moment is how long nothing may come before that is told.
	moment = time.Second
	// longestSilence is how long nothing may come at all: of standard input and of a
	// pipe since they said anything, of a kustomization until it is built.
	longestSilence = 5 * time.Minute
)

// heard is when something was last heard of an input.
type heard struct{ nanos atomic.Int64 }

func (h *heard) now() { h.nanos.Store(time.Now().UnixNano()) }

func (h *heard) at() time.Time { return time.Unix(0, h.nanos.Load()) }

// hearing is a reader that notes when something came.
type hearing struct {
	io.Reader
	heard *heard
}

func (r hearing) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.heard.now()
	return n, err
}

// patience is how an input is waited for that may keep us waiting.
type patience struct {
	// name is what it is called in an error, what in a sentence.
	name, what string
	most       time.Duration
	tell       func(what string, since time.Time, within time.Duration)
}

// await calls read, and waits for it, for the end of ctx, or until nothing was
// heard for too long. What keeps silent is told after a moment. read itself cannot
// be stopped but by its ctx: it goes on until it returns or the process ends.
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
			return nil, &inputError{where: p.name, text: "nothing came for " + strings.TrimSuffix(p.most.String(), "0s")}
		default:
			told = since
			if p.tell != nil {
				p.tell(p.what, since, p.most)
			}
		}
	}
}
