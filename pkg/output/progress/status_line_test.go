package progress

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func TestBar(t *testing.T) {
	for _, test := range []struct {
		done, total, width int
		want               string
	}{
		{0, 10, 12, "[          ]"},
		{1, 1000, 12, "[>         ]"},
		{5, 10, 12, "[====>     ]"},
		{10, 10, 12, "[=========>]"},
		{12, 10, 12, "[=========>]"},
		{5, 10, 3, "[>]"},
		{5, 10, 2, ""},
		{5, 10, -4, ""},
		{0, 0, 12, ""},
	} {
		if got := bar(test.done, test.total, test.width); got != test.want {
			t.Errorf("%d of %d in %d: %q, not %q", test.done, test.total, test.width, got, test.want)
		}
	}
}

// The rate adapts to recent progress.
func TestRate(t *testing.T) {
	var r rate
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	done := 0
	pass := func(seconds, perSecond int) {
		for range seconds * 10 {
			now = now.Add(time.Second / 10)
			done += perSecond / 10
			r.observe(done, now)
		}
	}
	r.observe(done, now)
	if got := r.String(); got != "" {
		t.Errorf("at the start: got %q, want no rate", got)
	}
	pass(1, 20)
	if got := r.String(); got != "   20/s" {
		t.Errorf("after a second at 20/s: got %q", got)
	}
	pass(60, 200)
	if got := r.String(); got != "  200/s" {
		t.Errorf("after a minute at 200/s: got %q", got)
	}
	pass(90, 0)
	if got := r.String(); got != "" {
		t.Errorf("without progress: got %q, want no rate", got)
	}
	done = 0
	pass(1, 10)
	if got := r.String(); got != "   10/s" {
		t.Errorf("in the next run at 10/s: got %q", got)
	}
}

// All hooks are reported in one line, which names a few and counts the others. With -v 1, each hook
// has a line.
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
			t.Errorf("%d hooks, verbose: got %d lines", n, lines)
		}
	}
}
