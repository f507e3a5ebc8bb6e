package printer_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// The runs in the history are listed below the members, the newest first, and in JSON.
func TestSetRuns(t *testing.T) {
	set := event.Set{Ref: config("shop"), Members: []event.Member{{Ref: config("a"), Judged: true, Ready: true}}, Runs: []event.SetRun{
		{ID: "two", Who: "jane", Result: "failed", Started: noon(), Line: "two of 2026-03-02T12:00:00Z, by jane"},
		{ID: "one", Result: "applied", Line: "one of 2026-03-01T12:00:00Z"},
	}}
	for format, want := range map[string]string{
		output.Table: "\nready      configmap/a -n prod\n\nfailed     run two of 2026-03-02T12:00:00Z, by jane\napplied    run one of 2026-03-01T12:00:00Z\n",
		output.JSON:  `"runs": [`,
	} {
		var out strings.Builder
		p, err := printer.For(printer.OfMembers, output.Options{Out: &out, Err: &out, Format: format})
		if err != nil {
			t.Fatal(err)
		}
		p.Print(set)
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s:\n%s\nwant %s", format, &out, want)
		}
	}
}

// A set and its members are separated by an empty line, unless the set has no members left.
func TestSetMembers(t *testing.T) {
	for name, c := range map[string]struct {
		members []event.Member
		lines   int
	}{
		"none": {lines: 2},
		"one":  {members: []event.Member{{Ref: config("a"), Judged: true, Ready: true}}, lines: 4},
	} {
		var out strings.Builder
		p, err := printer.For(printer.OfMembers, output.Options{Out: &out, Err: &out})
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
