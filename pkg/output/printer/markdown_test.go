package printer_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// changed is a change of a value, together with its owner.
func changed(name, from, to string, since time.Time) event.Compared {
	side := func(value string) map[string]any { return map[string]any{"data": map[string]any{"k": value}} }
	return event.Compared{
		Ref: config(name), Action: event.Update, Before: side(from), After: side(to),
		Changes: []managedfields.Change{{Path: fieldpath.Field("data", "k"), Kind: managedfields.Contested, From: from, To: to, Owners: []managedfields.Owner{
			{Manager: "kubectl-edit", Operation: managedfields.Update, Time: since},
		}}},
	}
}

func inMarkdown(t *testing.T, events ...event.Event) string {
	t.Helper()
	got := run(t, printer.OfDiff, output.Options{Format: output.Markdown, Color: true}, events)
	if got.err != "" {
		t.Errorf("stderr: %s", got.err)
	}
	return got.out
}

// The same diff gives the same text, at any time and for any order in which its objects were
// compared.
func TestDiffMarkdownIsDeterministic(t *testing.T) {
	planned := event.Planned{Phases: []event.Phase{{Name: "one", Total: 2, Refs: []object.Ref{config("a"), config("b")}}}}
	a, b := changed("a", "1", "2", ago(time.Hour)), changed("b", "1", "2", ago(time.Hour))
	later := changed("b", "1", "2", ago(2*time.Hour))
	first := inMarkdown(t, planned, event.PhaseStarted{}, a, b)
	if second := inMarkdown(t, planned, event.PhaseStarted{}, later, a); first != second {
		t.Errorf("%s\nand then\n%s", first, second)
	}
}

// The text fits into a comment, however much changes, and each object is shown, named or counted.
// No content of an object can end a fence.
func TestDiffMarkdownFitsIntoComment(t *testing.T) {
	const most = 65_536
	for name, tt := range map[string]struct {
		objects int
		value   string
	}{
		"a thousand":                   {1000, "2"},
		"a hundred thousand":           {100_000, "2"},
		"one object that is too large": {1, strings.Repeat("x\n", 100_000)},
		"fences":                       {10, "```\n````\n@team"},
		"a run of backticks":           {3, strings.Repeat("`", 1000)},
	} {
		var events []event.Event
		for i := range tt.objects {
			events = append(events, changed(fmt.Sprintf("name-of-%06d", i), "1", tt.value, time.Time{}))
		}
		out := inMarkdown(t, append(events, event.Reviewed{Digest: "d"})...)
		if len(out) > most {
			t.Errorf("%s: %d bytes", name, len(out))
		}
		seen := strings.Count(out, "update  configmap/name-of-")
		if rest := regexp.MustCompile(`and (\d+) more objects?`).FindStringSubmatch(out); rest != nil {
			more := 0
			_, _ = fmt.Sscan(rest[1], &more)
			seen += more
		}
		if seen != tt.objects {
			t.Errorf("%s: %d of %d objects are shown, named or counted", name, seen, tt.objects)
		}
		fence := regexp.MustCompile("^`+").FindString(out)
		inside := false
		for line := range strings.Lines(out) {
			language, fenced := strings.CutPrefix(strings.TrimSuffix(line, "\n"), fence)
			switch {
			case fenced && !inside && (language == "text" || language == "diff"):
				inside = true
			case fenced && inside && language == "":
				inside = false
			case fenced || !inside:
				t.Fatalf("%s: not in a fence: %q", name, line)
			}
		}
		if inside {
			t.Errorf("%s: the last fence is open", name)
		}
	}
}
