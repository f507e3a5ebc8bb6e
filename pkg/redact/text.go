package redact

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// A value shorter than shortest is masked only as a whole word: a secret "a" must not mask
	// every a in a message.
	shortest     = 4
	shortestLine = 8
)

// Text masks the values of a Secret in a text, in every form in which a program may quote them. For
// other objects, it returns the text.
func Text(u *unstructured.Unstructured, text string) string {
	if u == nil || !IsSecret(object.RefOf(u)) {
		return text
	}
	forms := map[string]bool{}
	add := func(value string) {
		for _, v := range append(parts(value), value, strings.TrimSpace(value)) {
			if v != value && len(v) < realLength || strings.TrimSpace(v) == "" {
				continue
			}
			for _, form := range spellings(v) {
				forms[form] = true
			}
		}
	}
	names := newNames()
	names.object(u.Object)
	values(u, add)
	text = maskByteLists(text, func(decoded string) bool { return maskForms(decoded, forms, nil) != decoded })
	return maskForms(text, forms, names)
}

// maskForms masks the forms in a text, except within names. Overlapping occurrences become one
// mask.
func maskForms(text string, forms map[string]bool, names *nameSet) string {
	var found [][2]int
	for form := range forms {
		for at := 0; ; at++ {
			i := strings.Index(text[at:], form)
			if i < 0 {
				break
			}
			at += i
			end := at + len(form)
			if (len(form) >= shortest || isWhole(text, at, end)) && !names.cover(text, at, end) {
				found = append(found, [2]int{at, end})
			}
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
	var b strings.Builder
	done := 0
	for i := 0; i < len(found); {
		from, to := found[i][0], found[i][1]
		for i++; i < len(found) && found[i][0] < to; i++ {
			to = max(to, found[i][1])
		}
		b.WriteString(text[done:from])
		b.WriteString(Mask)
		done = to
	}
	return b.String() + text[done:]
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// Writer returns a writer that masks unmistakable values in the final output, as a safety net. It
// holds back the end of a write if a value might begin there.
func (v *Vault) Writer(w io.Writer) *Writer { return &Writer{vault: v, w: w} }

// Writer is the result of [Vault.Writer].
type Writer struct {
	vault *Vault
	w     io.Writer

	mu   sync.Mutex
	held string
}

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
	// Do not hold back a value that is already complete.
	for from, to := 0, 0; ; {
		if from, to = x.nextMatch(text, to, w.vault.names); from == to || to > end {
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

// Each redraw of the status line ends with eraseLine. No value continues past it, so nothing is
// held back.
const eraseLine = "\x1b[K"

// Flush writes the text that was held back.
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
