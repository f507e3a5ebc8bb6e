package progress

import (
	"strconv"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Many hooks are named up to a few, and counted; one more than these is no line longer.
func TestHooksAreCounted(t *testing.T) {
	for n, want := range map[int]int{1: 2, few: few + 1, few + 1: few + 2, few + 2: few + 2, 400: few + 2} {
		var e event.HooksLeftOut
		for i := range n {
			e.Hooks = append(e.Hooks, event.Hook{Ref: object.Ref{Name: strconv.Itoa(i)}, On: []string{"test"}})
		}
		got := hooksText(e, false)
		if lines := strings.Count(got, "\n"); lines != want {
			t.Errorf("%d hooks: %d lines, want %d:\n%s", n, lines, want, got)
		}
		if more := n - few; more > 1 && !strings.Contains(got, "  and "+strconv.Itoa(more)+" more\n") {
			t.Errorf("%d hooks are not counted:\n%s", n, got)
		}
		if lines := strings.Count(hooksText(e, true), "\n"); lines != n+1 {
			t.Errorf("%d hooks, all of them: %d lines", n, lines)
		}
	}
}
