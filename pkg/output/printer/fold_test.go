package printer_test

import (
	"errors"
	"fmt"
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

// folded describes a test of lines that differ only in a name. line is the line for one object.
func folded() map[string]struct {
	of printer.Report
	// one returns the event for the i-th object. If there is only one event for all objects, all
	// returns it.
	one func(i int) event.Event
	all func(n int) event.Event
	// counted means that, without -v 1, the line has the number of all objects.
	counted bool
} {
	at := func(i int) object.Source { return object.Source{File: "many.yaml", Line: i + 1} }
	fault := func(i int, text, detail string) error {
		return &object.FaultError{Source: at(i), Subject: config(numbered(i)).String(), Text: text, Detail: detail, Advice: "do this"}
	}
	type row = struct {
		of      printer.Report
		one     func(i int) event.Event
		all     func(n int) event.Event
		counted bool
	}
	return map[string]row{
		"left out": {of: printer.OfApply, counted: true, one: func(i int) event.Event {
			return event.LeftOut{Err: fault(i, "generateName without a name", "")}
		}},
		"duplicate": {of: printer.OfApply, counted: true, one: func(i int) event.Event {
			return event.LeftOut{Err: fault(i, "the same object is in the input twice", ": also at other.yaml:"+numbered(i))}
		}},
		"copies": {of: printer.OfApply, counted: true, one: func(i int) event.Event {
			return event.Warned{Ref: config(numbered(i)), Text: "is in the input twice", Detail: " (at " + at(i).String() + ")"}
		}},
		"remarks": {of: printer.OfDiff, counted: true, one: func(i int) event.Event {
			return event.Remarked{Ref: config(numbered(i)), Code: "SecretMissing", Text: "its Secret does not exist", Hint: "create it"}
		}},
		"hooks": {of: printer.OfApply, counted: true, all: func(n int) event.Event {
			var e event.HooksLeftOut
			for i := range n {
				e.Hooks = append(e.Hooks, event.Hook{Ref: config(numbered(i)), Source: at(i), On: []string{"test"}})
			}
			return e
		}},
		"kept by a prune": {of: printer.OfApply, counted: true, one: func(i int) event.Event {
			return event.Applied{Ref: config(numbered(i)), Action: event.Kept, Departed: true, Reason: "its kind is not pruned"}
		}},
		"kept by sets delete": {of: printer.OfDelete, counted: true, one: func(i int) event.Event {
			return event.Deleted{Ref: config(numbered(i)), Action: event.Kept, Reason: "it has changed"}
		}},
		"would be kept": {of: printer.OfDiff, counted: true, one: func(i int) event.Event {
			return event.Compared{Ref: config(numbered(i)), Action: event.Kept, Departed: true, Reason: "its kind is not pruned"}
		}},
		"objects that join a set": {of: printer.OfDiff, counted: true, one: func(i int) event.Event {
			labels := map[string]any{"applyset.kubernetes.io/part-of": "applyset-x-v1"}
			return event.Compared{
				Ref: config(numbered(i)), Action: event.Update,
				Before: map[string]any{"data": map[string]any{"a": "b"}},
				After:  map[string]any{"data": map[string]any{"a": "b"}, "metadata": map[string]any{"labels": labels}},
				Changes: []managedfields.Change{
					{Kind: managedfields.Added, Path: fieldpath.Field("metadata", "labels"), To: labels},
					{Kind: managedfields.Added, Path: fieldpath.Field("metadata", "labels", "applyset.kubernetes.io/part-of"), To: "applyset-x-v1"},
				},
			}
		}},
		"conditions of removed CRDs": {of: printer.OfDelete, one: func(i int) event.Event {
			return event.Terminating{Ref: config(numbered(i)), Text: "condition Terminating is True (InstanceDeletionInProgress)"}
		}},
		"yields of unchanged objects": {of: printer.OfApply, counted: true, one: func(i int) event.Event {
			return event.Applied{Ref: config(numbered(i)), Action: event.Unchanged, Yielded: []fieldpath.Path{fieldpath.Field("data", "a")}}
		}},
	}
}

// numbered returns names, none of which is a part of another.
func numbered(i int) string { return fmt.Sprintf("c-%03d", i) }

// Lines that differ only in a name are printed as one line. With -v 1 and in JSON, all objects are
// named. A hint is printed once.
func TestLinesThatDifferInNameAreMerged(t *testing.T) {
	for name, row := range folded() {
		events := func(n int) []event.Event {
			all := []event.Event{event.Planned{}}
			if row.all != nil {
				return append(all, row.all(n))
			}
			for i := range n {
				all = append(all, row.one(i))
			}
			for i := range n {
				if name == "remarks" { // A document lists them with the results.
					all = append(all, event.Compared{Ref: config(numbered(i)), Action: event.None})
				}
			}
			return all
		}
		few, many := both(run(t, row.of, output.Options{}, events(12))), both(run(t, row.of, output.Options{}, events(120)))
		if a, b := strings.Count(few, "\n"), strings.Count(many, "\n"); a != b || a > 6 {
			t.Errorf("%s: 12 objects take %d lines, 120 objects take %d:\n%s", name, a, b, many)
		}
		if row.counted && !strings.Contains(many, "120") && !strings.Contains(many, " and 115 more") {
			t.Errorf("%s: the objects are not counted:\n%s", name, many)
		}
		for how, o := range map[string]output.Options{"-v 1": {Verbose: true}, "JSON": {Format: output.JSON}} {
			if how == "JSON" && name == "conditions of removed CRDs" {
				continue // Only the stream has them.
			}
			all := run(t, row.of, o, events(120))
			message := all.out
			if how == "-v 1" {
				message += all.err
			}
			for i := range 120 {
				if !strings.Contains(message, numbered(i)) {
					t.Errorf("%s: %s does not name object %d", name, how, i)
					break
				}
			}
			if hints := strings.Count(all.err, "hint: "); hints > 1 {
				t.Errorf("%s: %s has the hint %d times, want once", name, how, hints)
			}
		}
	}
}

// The same remark in many namespaces is one line, although each hint names its namespace.
func TestRemarksInManyNamespacesAreMerged(t *testing.T) {
	events := []event.Event{event.Planned{}}
	for i := range 120 {
		of := ref("v1", "Service", "shop-"+numbered(i), "web")
		events = append(events, event.Remarked{Ref: of, Code: "SelectorMatchesNothing", Text: "matches no Pod", Hint: "see kubectl get pods -n " + of.Namespace})
	}
	message := both(run(t, printer.OfApply, output.Options{}, events))
	for _, want := range []string{"120 objects: matches no Pod: service/web -n shop-c-000, ", " and 115 more", "hint: for example, see kubectl get pods -n shop-c-000\n"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q is missing:\n%s", want, message)
		}
	}
	if n := strings.Count(message, "hint:"); n != 1 {
		t.Errorf("%d hints, want one:\n%s", n, message)
	}
}

func both(w written) string { return w.out + w.err }

// A hint that several objects share is printed once, even if they failed for different reasons.
func TestHintsOnce(t *testing.T) {
	failed := func(i int) error { return hinted{errors.New("refused: " + numbered(i)), "ask for the right"} }
	for name, events := range map[string][]event.Event{
		"apply":  {event.Applied{Ref: config("a"), Action: event.Failed, Err: failed(0)}, event.Applied{Ref: config("b"), Action: event.Failed, Err: failed(1)}},
		"delete": {event.Deleted{Ref: config("a"), Action: event.Failed, Err: failed(0)}, event.Deleted{Ref: config("b"), Action: event.Unknown, Err: failed(1)}},
		"diff":   {event.Compared{Ref: config("a"), Action: event.Unknown, Err: failed(0)}, event.Compared{Ref: config("b"), Action: event.Unknown, Err: failed(1)}},
		"wait":   {event.Waited{Ref: config("a"), Action: event.Failed, Err: failed(0)}, event.Waited{Ref: config("b"), Action: event.Failed, Err: failed(1)}},
	} {
		of := map[string]printer.Report{"apply": printer.OfApply, "delete": printer.OfDelete, "diff": printer.OfDiff, "wait": printer.OfWait}[name]
		message := both(run(t, of, output.Options{}, append([]event.Event{event.Planned{}}, events...)))
		if n := strings.Count(message, "hint: ask for the right"); n != 1 {
			t.Errorf("%s: the hint is printed %d times, want once:\n%s", name, n, message)
		}
		doc := run(t, of, output.Options{Format: output.JSON}, append([]event.Event{event.Planned{}}, events...)).out
		if n := strings.Count(doc, `"hint": "ask for the right"`); n != 2 {
			t.Errorf("%s: JSON has the hint %d times, want twice:\n%s", name, n, doc)
		}
	}
}

// All kinds that the run waits for are reported in one line of the log, after a moment. If there is
// a single kind, it is named.
func TestWaitingForKindsIsOneLine(t *testing.T) {
	waiting := func(kind string) event.Event {
		return event.Waiting{Ref: config("a"), Kind: kind, For: kind + " to be served"}
	}
	for name, c := range map[string]struct {
		kinds []string
		want  []string
	}{
		"one":                 {[]string{"Widget"}, []string{"configmap/a -n prod: waiting for Widget to be served"}},
		"many":                {[]string{"A", "B", "C", "D", "E", "F", "G"}, []string{"waiting for 7 kinds to be served: A, B, C, D, E and 2 more"}},
		"kind served at once": {nil, nil},
	} {
		got := in(t, 1, printer.OfApply, func(w *watched) {
			w.p.Print(phases())
			w.p.Print(event.PhaseStarted{Index: 0})
			for _, kind := range c.kinds {
				w.p.Print(waiting(kind))
			}
			pass(2 * time.Second)
			w.p.Print(waiting("Quick"))
			w.p.Print(event.Applied{Ref: config("a"), Action: event.Created})
		})
		var message []string
		for _, line := range got {
			if strings.Contains(line, "waiting for") {
				message = append(message, line)
			}
		}
		if strings.Join(message, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %q, want %q", name, message, c.want)
		}
	}
}
