package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// A terminal breaks long lines anywhere, even inside a name or flag. So on a terminal, warnings are
// wrapped between words. In a log, where people search, each warning is one line.
func TestWarningsWrapBetweenWords(t *testing.T) {
	const width = 40
	message := "secret/shop -n shop: 2 objects left this set; apply again with --apply-set=shop -n shop"
	for name, terminal := range map[string]bool{"terminal": true, "log": false} {
		var out strings.Builder
		c := New(output.NewBase(
			output.Options{Out: &out, Err: &out, Now: time.Now, Progress: terminal, ErrWidth: func() int { return width }},
			output.NewState(output.Word{}, false),
		))
		c.Handle(event.Warned{Text: message})
		c.Flush()
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if (len(lines) > 1) != terminal || strings.Join(strings.Fields(out.String()), " ") != "warning: "+message {
			t.Errorf("%s: %q", name, lines)
		}
		for _, line := range lines {
			if terminal && format.Cells(line) > width {
				t.Errorf("too long: %q", line)
			}
		}
	}
}
