package connection

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// learningBody learns from a body that is read through it, before its reader knows that
// it has all of an object: at the end, or of a watch at the end of each line.
type learningBody struct {
	io.ReadCloser
	vault  *redact.Vault
	stream bool
	read   []byte
}

func (b *learningBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read = append(b.read, p[:n]...)
	for b.stream {
		end := bytes.IndexByte(b.read, '\n')
		if end < 0 {
			break
		}
		b.learn(b.read[:end])
		b.read = b.read[end+1:]
	}
	if err != nil {
		b.learn(b.read)
		b.read = nil
	}
	return n, err
}

func (b *learningBody) learn(text []byte) {
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return
	}
	if inner, ok := fields["object"].(map[string]any); ok && fields["type"] != nil { // an event of a watch
		fields = inner
	}
	b.vault.Learn(fields)
}

// Writers returns stdout and stderr behind a last mask, below all that is masked earlier:
// no value that the vault knows gets through. flush writes what is held back.
func Writers(vault *redact.Vault, stdout, stderr io.Writer) (out, errOut io.Writer, flush func()) {
	first, second := vault.Writer(stdout), vault.Writer(stderr)
	return first, second, func() {
		_, _ = first.Flush(), second.Flush() // There is nowhere left to report an error.
	}
}

// Bare returns the writer below a mask, for callers that check whether it is a terminal.
func Bare(w io.Writer) io.Writer {
	for {
		wrapped, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = wrapped.Unwrap()
	}
}
