package printer_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// Between a set and its members there is an empty line; nothing is set off from a set that all
// members have left.
func TestSetMembers(t *testing.T) {
	for name, c := range map[string]struct {
		members []event.Member
		lines   int
	}{
		"none": {lines: 2},
		"one":  {members: []event.Member{{Ref: config("a"), Judged: true, Ready: true}}, lines: 4},
	} {
		var out strings.Builder
		p, err := printer.ForSets(output.Options{Out: &out, Err: &out}, true)
		if err != nil {
			t.Fatal(err)
		}
		p.Print(event.Set{Ref: config("shop"), Members: c.members})
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "\n"); got != c.lines {
			t.Errorf("%s: %d lines, want %d\n%s", name, got, c.lines, &out)
		}
	}
}
