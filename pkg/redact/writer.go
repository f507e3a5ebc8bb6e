package redact

import (
	"io"
	"strings"
	"sync"
)

// Writer returns a writer that masks finished output on its way to w: the safety net
// below everything that is masked on its way in. It looks only for values that can
// hardly be anything else, so that it does not mistake a word of ours, or a key of a
// document, for one. It finds a value however it is split into writes: the possible
// beginning of one is held back until the next write, or [Writer.Flush].
func (v *Vault) Writer(w io.Writer) *Writer { return &Writer{vault: v, w: w} }

// Writer masks what is written to it.
type Writer struct {
	vault *Vault
	w     io.Writer

	mu   sync.Mutex
	held string
}

// Unwrap returns the underlying writer.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.vault.mu.RLock()
	x := forms{&w.vault.index, true}
	if x.none() && w.held == "" {
		w.vault.mu.RUnlock()
		return w.w.Write(p)
	}
	text := w.held + string(p)
	end := len(text)
	if !strings.HasSuffix(text, eraseLine) {
		if end = x.open(text); end < len(text) {
			for end > 0 && isNameByte(text[end-1]) { // It may be part of a name.
				end--
			}
		}
	}
	// The text that is held back must not cut a value in two that is complete already.
	for from, to := 0, 0; ; {
		if from, to = x.next(text, to, w.vault.names); from == to || to > end {
			if from < to {
				end = min(end, from)
			}
			break
		}
	}
	w.held = text[end:]
	text = x.mask(text[:end], w.vault.names)
	w.vault.mu.RUnlock()
	if text != "" {
		if _, err := io.WriteString(w.w, text); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// eraseLine ends each drawing of a live line; nothing before it needs to be held back.
const eraseLine = "\x1b[K"

// Flush writes what was held back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == "" {
		return nil
	}
	w.vault.mu.RLock()
	text := forms{&w.vault.index, true}.mask(w.held, w.vault.names)
	w.vault.mu.RUnlock()
	w.held = ""
	_, err := io.WriteString(w.w, text)
	return err
}
