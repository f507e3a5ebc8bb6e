package verb

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestAsk(t *testing.T) {
	for message, want := range map[string]bool{"yes\n": true, " Y \n": true, "yes": true, "no\n": false, "": false, "\n": false, "yess\n": false} {
		streams, in, _, stderr := genericiooptions.NewTestIOStreams()
		in.WriteString(message)
		yes, err := Ask(t.Context(), streams, "Go on?")
		if yes != want || err != nil || stderr.String() != "Go on? (yes/no): " {
			t.Errorf("%q: %v, %v, asked %q", message, yes, err, stderr)
		}
	}
}

// An interrupted prompt is not a yes.
func TestAskInterrupted(t *testing.T) {
	why := errors.New("interrupted")
	for name, in := range map[string]func() io.Reader{
		"before an answer": func() io.Reader { r, _ := io.Pipe(); return r },
		"with an answer":   func() io.Reader { return strings.NewReader("yes\n") },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if _, err := Ask(ctx, genericiooptions.IOStreams{In: in(), ErrOut: io.Discard}, "Go on?"); !errors.Is(err, why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
