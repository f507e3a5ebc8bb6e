package progress

import (
	"strconv"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Hooks are one line: a few are named, the rest is counted; -v 1 has a line for each.
func TestHooksAreCounted(t *testing.T) {
	for _, n := range []int{1, few, few + 1, 400} {
		var e event.HooksLeftOut
		for i := range n {
			e.Hooks = append(e.Hooks, event.Hook{Ref: object.Ref{Name: strconv.Itoa(i)}, On: []string{"test"}})
		}
		got := hooksText(e, false)
		if lines := strings.Count(got, "\n"); lines != 1 {
			t.Errorf("%d hooks: %d lines:\n%s", n, lines, got)
		}
		if more := n - few; more > 0 && !strings.Contains(got, " and "+strconv.Itoa(more)+" more\n") {
			t.Errorf("%d hooks are not counted:\n%s", n, got)
		}
		if lines := strings.Count(hooksText(e, true), "\n"); lines != n+1 {
			t.Errorf("%d hooks, all of them: %d lines", n, lines)
		}
	}
}
