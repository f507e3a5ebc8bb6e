package printer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// No line is longer than the terminal, at any width. The only exception is a path on its own line,
// which users must be able to copy in one piece.
func TestReportFitsTheTerminal(t *testing.T) {
	long := strings.Repeat("registry.example.com/", 10)
	conflicts := contractConflict(t).Conflicts
	for _, tail := range []string{"a", "日本"} {
		conflicts = append(conflicts, managedfields.Conflict{
			Path: path(t, image), Yours: long + tail, Live: long, HasLive: true,
			Owners: []managedfields.Owner{editor(), flux(), autoscaler()},
		})
	}
	for _, some := range [][]managedfields.Conflict{conflicts[:1], conflicts[:2], conflicts} {
		for width := 40; width <= 200; width += 5 {
			events := []event.Event{event.Applied{Ref: web(), Action: event.InConflict, Conflicts: some}}
			got := run(t, printer.OfApply, output.Options{Width: columns(width)}, events)
			report, _, _ := strings.Cut(got.out, "\n\n")
			for line := range strings.Lines(report) {
				text := strings.TrimSpace(line)
				alone := strings.HasPrefix(text, ".") && !strings.Contains(text, " ")
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width && !alone {
					t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
				}
			}
		}
	}
}

// Edge case 10: all owners of a path are shown.
func TestAllOwners(t *testing.T) {
	applied := contractConflict(t)
	applied.Conflicts[0].Owners = []managedfields.Owner{autoscaler(), editor(), flux()}
	const want = "kube-controller-manager (scale), kubectl-edit (Update, 1h ago), flux (Apply, 3d ago)\n"
	got := run(t, printer.OfApply, output.Options{}, []event.Event{applied})
	if !strings.Contains(got.out, want) {
		t.Errorf("no %q in:\n%s", want, got.out)
	}
}

func inNamespace(namespace string, ref object.Ref) object.Ref {
	ref.Namespace = namespace
	return ref
}

func TestAdvice(t *testing.T) {
	conflict := func(name string, paths ...string) event.Event {
		applied := event.Applied{Ref: config(name), Action: event.InConflict, AdoptFrom: "flux"}
		for _, p := range paths {
			applied.Conflicts = append(applied.Conflicts, managedfields.Conflict{Path: path(t, p), Owners: []managedfields.Owner{flux()}})
		}
		return applied
	}
	many := func(n int, paths ...string) []event.Event {
		var events []event.Event
		for i := range n {
			events = append(events, conflict(fmt.Sprintf("c-%02d", i), paths...))
		}
		return events
	}
	tests := map[string]struct {
		events []event.Event
		dryRun bool
		want   string
	}{
		"one path": {events: many(1, ".data.a"), want: `
Nothing in this phase was written. For each path, choose:
  take it    --take=configmap/c-00:.data.a
  leave it   --yield=configmap/c-00:.data.a
  agree      put the live value into the manifest
  adopt      --adopt-from=flux  # you take over all its fields; those not in the manifest are removed
`},
		"a dry run": {events: many(1, `.data["it's"]`), dryRun: true, want: `
Nothing in this phase would be written. For each path, choose:
  take it    --take='configmap/c-00:.data["it'\''s"]'
  leave it   --yield='configmap/c-00:.data["it'\''s"]'
  agree      put the live value into the manifest
  adopt      --adopt-from=flux  # you take over all its fields; those not in the manifest are removed
`},
		"one path of many objects": {events: append(many(12, ".data.a"), conflict("d", ".data.b")), want: `
Nothing in this phase was written. For each path, choose:
  take it    --take=.data.a  # 12 objects
             --take=configmap/d:.data.b
  leave it   --yield=.data.a  # 12 objects
             --yield=configmap/d:.data.b
  agree      put the live value into the manifest
  adopt      --adopt-from=flux  # you take over all its fields; those not in the manifest are removed
  take all   --take=all
Without KIND/NAME, a flag applies to that path in every object.
`},
		"many paths of one object": {events: many(1, ".data.a", ".data.b", ".data.c", ".data.d", ".data.e", ".data.f", ".data.g"), want: `
Nothing in this phase was written. For each path, choose:
  take it    --take=configmap/c-00:.data.a
             --take=configmap/c-00:.data.b
             --take=configmap/c-00:.data.c
             --take=configmap/c-00:.data.d
             --take=configmap/c-00:.data.e
             and so on for 2 more paths
  leave it   --yield=configmap/c-00:.data.a
             --yield=configmap/c-00:.data.b
             --yield=configmap/c-00:.data.c
             --yield=configmap/c-00:.data.d
             --yield=configmap/c-00:.data.e
             and so on for 2 more paths
  agree      put the live value into the manifest
  adopt      --adopt-from=flux  # you take over all its fields; those not in the manifest are removed
  take all   --take=all
`},
		"from the first phase on": {events: []event.Event{
			event.Planned{Phases: []event.Phase{{Name: "one"}, {Name: "two"}}},
			event.PhaseStarted{Index: 0},
			conflict("a", ".data.a"),
			event.PhaseStarted{Index: 1},
			conflict("b", ".data.a"),
		}, want: `
Nothing was written. For each path, choose:
  take it    --take=configmap/a:.data.a
             --take=configmap/b:.data.a
  leave it   --yield=configmap/a:.data.a
             --yield=configmap/b:.data.a
  agree      put the live value into the manifest
  adopt      --adopt-from=flux  # you take over all its fields; those not in the manifest are removed
  take all   --take=all
`},
		"from the second phase on": {events: []event.Event{
			event.Planned{Phases: []event.Phase{{Name: "one"}, {Name: "two"}, {Name: "three"}}},
			event.PhaseStarted{Index: 0},
			event.Applied{Ref: config("early"), Action: event.Created},
			event.PhaseStarted{Index: 1},
			conflict("a", ".data.a"),
		}, want: `
Nothing in phase 2 (two) or later was written. For each path, choose:
  take it    --take=configmap/a:.data.a
  leave it   --yield=configmap/a:.data.a
  agree      put the live value into the manifest
  adopt      --adopt-from=flux  # you take over all its fields; those not in the manifest are removed
`},
		"in the last phase": {dryRun: true, events: []event.Event{
			event.Planned{Phases: []event.Phase{{Name: "one"}, {Name: "two"}}},
			event.PhaseStarted{Index: 1},
			conflict("a", ".data.a"),
		}, want: `
Nothing in phase 2 (two) or later would be written. For each path, choose:
  take it    --take=configmap/a:.data.a
  leave it   --yield=configmap/a:.data.a
  agree      put the live value into the manifest
  adopt      --adopt-from=flux  # you take over all its fields; those not in the manifest are removed
`},
		"another client wrote after the read": {events: []event.Event{
			event.Planned{Phases: []event.Phase{{Name: "one"}}},
			event.PhaseStarted{Index: 0},
			event.Applied{Ref: config("a"), Action: event.Configured},
			conflict("b", ".data.a"),
		}, want: `
Nothing in conflict was written. For each path, choose:
  take it    --take=configmap/b:.data.a
  leave it   --yield=configmap/b:.data.a
  agree      put the live value into the manifest
  adopt      --adopt-from=flux  # you take over all its fields; those not in the manifest are removed
`},
		"one name in two namespaces": {events: []event.Event{
			event.Planned{Phases: []event.Phase{{Name: "one", Refs: []object.Ref{config("a"), inNamespace("other", config("a")), config("b")}}}},
			event.PhaseStarted{Index: 0},
			conflict("a", ".data.a"),
			conflict("b", ".data.a"),
		}, want: `
Nothing in this phase was written. For each path, choose:
  take it    --take=configmap/prod/a:.data.a
             --take=configmap/b:.data.a
  leave it   --yield=configmap/prod/a:.data.a
             --yield=configmap/b:.data.a
  agree      put the live value into the manifest
  adopt      --adopt-from=flux  # you take over all its fields; those not in the manifest are removed
  take all   --take=all
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := run(t, printer.OfApply, output.Options{DryRun: tt.dryRun}, tt.events)
			_, rest, _ := strings.Cut(got.out, "\nNothing")
			advice, _, _ := strings.Cut("\nNothing"+rest, "\n\n")
			if diff := cmp.Diff(tt.want, advice+"\n"); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A path that cannot be yielded is not offered for --yield. Adoption is offered only if it settles
// the conflicts of all objects.
func TestOnlyWorkingAdviceIsOffered(t *testing.T) {
	contested := func(name, from string, unleavable ...fieldpath.Path) event.Applied {
		return event.Applied{
			Ref: config(name), Action: event.InConflict, AdoptFrom: from, Unleavable: unleavable,
			Conflicts: []managedfields.Conflict{{Path: path(t, ".data.a"), Owners: []managedfields.Owner{flux()}}},
		}
	}
	events := []event.Event{contested("a", "flux", path(t, ".data.a")), contested("b", "")}
	got := run(t, printer.OfApply, output.Options{}, events).out
	if strings.Contains(got, "--adopt-from") || strings.Contains(got, "--yield=configmap/a") || !strings.Contains(got, "--yield=configmap/b:.data.a") {
		t.Error(got)
	}
	if !strings.Contains(got, "not possible: configmap/a:.data.a is a path of another API version") {
		t.Error(got)
	}
	got = run(t, printer.OfApply, output.Options{Format: output.JUnit}, events).out
	if strings.Contains(got, "yield=configmap/a") || !strings.Contains(got, "yield=configmap/b") {
		t.Error(got)
	}
}

// If hundreds of paths are in conflict, some are shown and the rest are counted.
func TestManyContestedPaths(t *testing.T) {
	applied := event.Applied{Ref: config("a"), Action: event.InConflict}
	for i := range 100 {
		p := path(t, fmt.Sprintf(".data.key%03d", i))
		applied.Conflicts = append(applied.Conflicts, managedfields.Conflict{Path: p, Owners: []managedfields.Owner{flux()}})
		applied.Taken = append(applied.Taken, managedfields.Change{Path: p, From: "a", To: "b", Owners: []managedfields.Owner{flux()}})
	}
	brief := run(t, printer.OfApply, output.Options{}, []event.Event{applied}).out
	full := run(t, printer.OfApply, output.Options{Verbose: true}, []event.Event{applied}).out
	if !strings.Contains(brief, "  and 80 more paths\n") || !strings.Contains(brief, "  taken    and 90 more paths\n") {
		t.Errorf("the number of further paths is missing:\n%s", brief)
	}
	if strings.Contains(full, "more paths\n  taken") || !strings.Contains(full, "  taken    .data.key099  from flux (Apply, 3d ago): a → b\n") {
		t.Errorf("some paths are missing although Verbose is set:\n%s", full)
	}
}
