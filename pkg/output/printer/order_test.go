package printer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// thousand is a run over 1,000 objects in three phases. The seed determines the order in which the
// objects finish. With refs, the plan names the objects of each phase.
func thousand(t *testing.T, seed uint64, refs bool) []event.Event {
	planned := event.Planned{Phases: []event.Phase{{Name: "one", Total: 100}, {Name: "two", Total: 500}, {Name: "three", Total: 400}}}
	var results [][]event.Event
	for i, phase := range planned.Phases {
		var part []event.Event
		for n := range phase.Total {
			ref := config(fmt.Sprintf("c-%d-%03d", i, (n*7)%phase.Total))
			if refs {
				planned.Phases[i].Refs = append(planned.Phases[i].Refs, ref)
			}
			part = append(part, outcome(t, n, ref))
		}
		results = append(results, part)
	}
	events := []event.Event{planned}
	random := rand.New(rand.NewPCG(seed, 1))
	for i, part := range results {
		random.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
		events = append(events, event.PhaseStarted{Index: i})
		for _, e := range part {
			if applied := e.(event.Applied); applied.Action == event.Configured {
				events = append(events, event.Warned{Ref: applied.Ref, Text: "deprecated"})
			}
			events = append(events, e)
		}
	}
	return events
}

func outcome(t *testing.T, n int, ref object.Ref) event.Applied {
	applied := event.Applied{Ref: ref}
	switch {
	case n%50 == 0:
		applied.Action, applied.Err = event.Failed, errors.New("no")
	case n%49 == 0:
		applied.Action, applied.Conflicts = event.InConflict, contractConflict(t).Conflicts
	case n%48 == 0:
		applied.Action, applied.Err = event.Skipped, errors.New("its namespace failed")
	case n%9 == 0:
		applied.Action = event.Configured
	default:
		applied.Action = event.Unchanged
	}
	return applied
}

// The same results give the same bytes, in whatever order the objects finish.
func TestOutputDoesNotDependOnCompletionOrder(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for _, refs := range []bool{true, false} {
		for _, format := range []string{output.Table, output.JSON, output.YAML, output.Name, output.JUnit} {
			t.Run(fmt.Sprintf("%s, planned %t", format, refs), func(t *testing.T) {
				o := output.Options{Format: format, Width: columns(100)}
				want := run(t, printer.OfApply, o, thousand(t, 1, refs))
				for seed := range seeds {
					got := run(t, printer.OfApply, o, thousand(t, 2+seed, refs))
					if diff := cmp.Diff(want.out, got.out); diff != "" {
						t.Errorf("stdout differs:\n%s", diff)
					}
					if diff := cmp.Diff(want.err, got.err); diff != "" {
						t.Errorf("stderr differs:\n%s", diff)
					}
				}
			})
		}
	}
}

// Results are printed in plan order, including objects of phases that never began. Objects that are
// not in the plan come last.
func TestResultsAreInPlanOrder(t *testing.T) {
	first, second, third := config("z"), config("m"), config("a")
	planned := event.Planned{Phases: []event.Phase{
		{Name: "one", Total: 2, Refs: []object.Ref{first, second}},
		{Name: "two", Total: 1, Refs: []object.Ref{third}},
	}}
	skip := errors.New("phase one failed")
	events := []event.Event{
		planned,
		event.PhaseStarted{Index: 0},
		event.Applied{Ref: config("b"), Action: event.Created},
		event.Applied{Ref: third, Action: event.Skipped, Err: skip},
		event.Applied{Ref: second, Action: event.Created},
		event.Applied{Ref: first, Action: event.Created},
	}
	got := run(t, printer.OfApply, output.Options{Format: output.Name}, events)
	if diff := cmp.Diff("configmap/z\nconfigmap/m\nconfigmap/b\n", got.out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	document := run(t, printer.OfApply, output.Options{Format: output.JSON}, events)
	names := namesIn(t, document.out)
	if diff := cmp.Diff([]string{"z", "m", "b", "a"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A log shows the results of a phase at its end.
func TestResultsComePhaseByPhase(t *testing.T) {
	seen := &writes{}
	p, err := printer.For(printer.OfApply, output.Options{Out: seen, Err: &writes{}, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	p.Print(event.Planned{Phases: []event.Phase{{Name: "one", Total: 1}, {Name: "two", Total: 1}}})
	p.Print(event.PhaseStarted{Index: 0})
	p.Print(event.Applied{Ref: config("a"), Action: event.Created})
	if len(seen.texts) != 0 {
		t.Errorf("written before the phase was over: %q", seen.texts)
	}
	p.Print(event.Waiting{Ref: config("a"), For: "being served"})
	if len(seen.texts) != 1 {
		t.Errorf("not written although the phase is over: %q", seen.texts)
	}
	p.Print(event.PhaseStarted{Index: 1})
	p.Print(event.Applied{Ref: config("b"), Action: event.Created})
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{
		"created     configmap/a -n prod\n",
		"created     configmap/b -n prod\n",
		"2 created\n",
	}
	if diff := cmp.Diff(want, seen.texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.Print(event.Applied{Ref: config("c"), Action: event.Created})
	if err := p.Close(t.Context()); err != nil || len(seen.texts) != len(want) {
		t.Errorf("a closed printer wrote %q, %v", seen.texts[len(want):], err)
	}
}

// A failed write to the output is the only error that Close returns.
func TestWriteErrorOfStdout(t *testing.T) {
	for _, format := range []string{output.Table, output.JSON, output.Name, output.Stream, output.JUnit} {
		gone := errors.New("broken pipe")
		out := &writes{failure: gone}
		p, err := printer.For(printer.OfApply, output.Options{Out: out, Err: &writes{failure: gone}, Format: format})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range applyStory(t) {
			p.Print(e)
		}
		if err := p.Close(t.Context()); !errors.Is(err, gone) {
			t.Errorf("%s: Close: %v, want %v", format, err, gone)
		}
		if len(out.texts) != 1 {
			t.Errorf("%s: written to a broken pipe %d times", format, len(out.texts))
		}
	}
}

// writes records each write separately.
type writes struct {
	texts   []string
	failure error
}

func (w *writes) Write(text []byte) (int, error) {
	w.texts = append(w.texts, string(text))
	return len(text), w.failure
}
