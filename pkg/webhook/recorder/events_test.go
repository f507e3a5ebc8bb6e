package recorder

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Events are shown in a terminal, and the API server does not restrict the characters of an owner's
// subresource.
func TestEventTextIsPrintable(t *testing.T) {
	e := ownership.Entry{
		Path: ".data.a", Kind: ownership.Taken, From: []ownership.Holder{{Manager: "argo", Operation: "Apply"}},
		To: []ownership.Holder{{Manager: "flux", Operation: "Update", Subresource: "\x1b[2J\u202e\n"}},
	}
	if got := eventText([]ownership.Entry{e}); strings.ContainsAny(got, "\x1b\u202e\n") || !strings.Contains(got, "flux") {
		t.Errorf("got Event text %q, want it printable", got)
	}
}
