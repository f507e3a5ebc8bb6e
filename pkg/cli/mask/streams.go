package mask

import (
	"io"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Writers returns stdout and stderr with a net below all that is masked before: what the
// vault knows does not get through. flush writes what is held back.
func Writers(vault *redact.Vault, stdout, stderr io.Writer) (out, errOut io.Writer, flush func()) {
	first, second := vault.Writer(stdout), vault.Writer(stderr)
	return first, second, func() {
		_, _ = first.Flush(), second.Flush() // Nobody is left to be told.
	}
}

// Bare returns what a stream writes to, for what has to know whether it is a terminal.
func Bare(w io.Writer) io.Writer {
	for {
		wrapped, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = wrapped.Unwrap()
	}
}
