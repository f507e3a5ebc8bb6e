package connection

import (
	"io"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

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
