package printer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// words returns a value of about the given width: an image, a sentence, or a URL. All values
// differ, and none is part of another.
func words(random *rand.Rand, columns int) string {
	unit := []string{"registry.example.com/", "a few words ", "日本語", "x"}[random.IntN(4)]
	text := fmt.Sprintf("v%08x-", random.Uint32())
	for len([]rune(text)) < columns {
		text += unit
	}
	return strings.TrimSpace(string([]rune(text)[:max(columns, 10)])) + "#"
}

// columnsOf counts columns as a terminal does. East Asian characters take two columns.
func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0x2e80 {
			n++
		}
	}
	return n
}

// The output always shows where two values differ. A log shortens nothing, and a terminal shortens
// nothing that fits on a line of its own. No line is wider than the terminal, except for a path or
// word that users must be able to copy in one piece.
func TestValuesThatFitAreNotShortened(t *testing.T) {
	const label = len("          → ") // what may precede a value on its own line
	random := rand.New(rand.NewPCG(16, 1))
	tried := 0
	for range 60 {
		a, b, c := words(random, random.IntN(150)), words(random, random.IntN(150)), words(random, random.IntN(150))
		replicas := managedfields.Conflict{Path: path(t, ".spec.replicas"), Yours: int64(3), Live: int64(5), HasLive: true, Owners: []managedfields.Owner{autoscaler()}}
		stories := map[string]struct {
			report printer.Report
			events []event.Event
		}{
			"conflict": {printer.OfApply, []event.Event{event.Applied{Ref: web(), Action: event.InConflict, Conflicts: []managedfields.Conflict{replicas, {
				Path: path(t, image), Yours: a, Live: b, HasLive: true, Owners: []managedfields.Owner{editor(), flux()},
			}}}}},
			"taken": {printer.OfApply, []event.Event{event.Applied{Ref: web(), Action: event.Configured, Taken: []managedfields.Change{
				{Path: path(t, image), From: a, To: b, Owners: []managedfields.Owner{editor(), flux()}},
			}, Removed: []managedfields.Change{{Path: path(t, ".metadata.labels.tier"), From: c}}}}},
			"wait": {printer.OfWait, []event.Event{event.Waited{Ref: web(), Action: event.TimedOut, Conditions: []event.Condition{{
				For: "self.status.image == 'x'", Values: []event.Value{{Expr: "self.status.image", Value: a}, {Expr: "self.spec.more", Value: b}},
			}}}}},
		}
		for name, story := range stories {
			values := []string{a, b}
			if name == "taken" {
				values = append(values, c)
			}
			for _, width := range []int{0, 40, 60, 80, 100, 120, 160, 200} {
				o := output.Options{}
				if width > 0 {
					o.Width = columns(width)
				}
				got := run(t, story.report, o, story.events).out
				for _, value := range values {
					if whole := width == 0 || columnsOf(value)+label <= width; whole && !strings.Contains(got, value) {
						t.Errorf("%s at %d columns: %q is cut:\n%s", name, width, value, got)
					}
					tried++
				}
				for line := range strings.Lines(got) {
					text := strings.TrimSpace(line)
					if n := columnsOf(strings.TrimSuffix(line, "\n")); width > 0 && n > width && strings.Contains(text, " ") &&
						!strings.HasPrefix(text, "take it") && !strings.HasPrefix(text, "leave it") && !strings.HasPrefix(text, "agree") && !strings.HasPrefix(text, "--") &&
						!strings.HasPrefix(text, "A flag") && !strings.Contains(text, "choose:") && !onlyPath(text) {
						t.Errorf("%s: %d columns on a terminal of %d: %s", name, n, width, line)
					}
				}
			}
		}
	}
	if tried == 0 {
		t.Error("nothing was tried")
	}
}

// The notes of a diff fit the terminal, as those of an apply do. Each of their lines is a comment.
func TestNotesOfADiffFit(t *testing.T) {
	contested := []managedfields.Change{{Path: path(t, image), Kind: managedfields.Contested, Owners: []managedfields.Owner{editor(), flux()}}}
	events := []event.Event{event.Compared{
		Ref: web(), Action: event.Update, Changes: contested, Err: errors.New(strings.Repeat("the server would refuse it ", 9)),
	}}
	for width := 40; width <= 200; width += 7 {
		got := run(t, printer.OfDiff, output.Options{Width: columns(width)}, events).out
		for i, line := range strings.Split(strings.TrimSpace(got), "\n") {
			if i > 0 && !strings.HasPrefix(line, "# ") || columnsOf(line) > width && !strings.Contains(line, image) {
				t.Fatalf("notes do not fit or are not comments at %d columns:\n%s", width, got)
			}
		}
	}
}

// onlyPath matches a line that contains only a path and, at most, the change to the path.
func onlyPath(text string) bool {
	fields := strings.Fields(text)
	return len(fields) == 2 && strings.HasPrefix(fields[1], ".")
}

// Two different values still look different if both have to be shortened.
func TestShortenedValuesDiffer(t *testing.T) {
	same := strings.Repeat("registry.example.com/", 20)
	for width := 40; width <= 200; width++ {
		events := []event.Event{event.Applied{Ref: web(), Action: event.InConflict, Conflicts: []managedfields.Conflict{
			{Path: path(t, image), Yours: same + "a" + same, Live: same + "b" + same, HasLive: true, Owners: []managedfields.Owner{editor()}},
		}}}
		got := run(t, printer.OfApply, output.Options{Width: columns(width)}, events).out
		_, yours, _ := strings.Cut(got, "yours ")
		yours, _, _ = strings.Cut(yours, "\n")
		_, live, _ := strings.Cut(got, "live ")
		live, _, _ = strings.Cut(live, "\n")
		if yours == live || !strings.Contains(yours, "…") {
			t.Errorf("at %d columns: %q and %q", width, yours, live)
		}
	}
}
