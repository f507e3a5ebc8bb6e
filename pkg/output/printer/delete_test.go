package printer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

func operator() object.Ref { return ref("apps/v1", "Deployment", "ops", "operator") }

func widget(name string) object.Ref { return ref("example.com/v1", "Widget", "prod", name) }

// gone is a cause with all fields, including an escape sequence.
func gone(name string) event.Cause {
	return event.Cause{
		Code:    "FinalizerControllerScaledDown",
		Message: "the controller of finalizer example.com/clean-up of " + name + " has no replicas",
		Evidence: []string{
			"finalizer example.com/clean-up was last written by operator, 3 days ago",
			"deployment.apps/operator -n ops: 0 of 0 replicas\x1b[31m",
		},
		Next:      "kubectl scale deployment/operator -n ops --replicas=1",
		Risk:      "none: it does what was left to do",
		BlockedBy: operator(),
	}
}

// deleteStory has every kind of event of a delete.
func deleteStory() []event.Event {
	shop := ref("v1", "Namespace", "", "shop")
	file := object.Source{File: "set.yaml", Line: 7}
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "old")
	stuck := func(name string) event.Stuck {
		return event.Stuck{Ref: widget(name), Since: ago(time.Minute), Causes: []event.Cause{gone(name)}}
	}
	remains := func(name string) event.Deleted {
		return event.Deleted{Ref: widget(name), Action: event.Remains, Since: ago(5 * time.Minute), Causes: []event.Cause{gone(name)}}
	}
	return []event.Event{
		event.Planned{Phases: []event.Phase{
			{Name: "workloads", Total: 7, Refs: []object.Ref{config("a"), config("b"), config("old"), config("kept"), config("far"), widget("one"), widget("two")}},
			{Name: "CRDs and namespaces", Total: 1, Refs: []object.Ref{shop}},
		}},
		event.PhaseStarted{Index: 0},
		event.Started{Ref: config("a")},
		event.Deleted{Ref: config("b"), Action: event.Gone, Reason: "it is gone; another object has its name now, and was left alone"},
		event.Deleted{Ref: config("a"), Action: event.Gone},
		event.Deleted{Ref: config("old"), Source: file, Action: event.Failed, Err: notFound},
		event.Deleted{Ref: config("kept"), Action: event.Failed, Err: forbidden("kept")},
		event.Terminating{Ref: widget("one"), Text: "finalizer example.com/first is gone"},
		event.Terminating{Ref: shop, Done: 1200, Total: 2000},
		event.Retrying{Ref: ref("v1", "ConfigMap", "prod", ""), Err: errors.New("etcd is away"), Left: 5 * time.Minute},
		stuck("one"), stuck("two"), stuck("one"),
		event.Deleted{Ref: config("far"), Action: event.Unknown, Err: errors.New("could not be read for 5m0s (9 errors); last error: no")},
		remains("two"), remains("one"),
		event.Deleted{Ref: shop, Action: event.Skipped, Err: errors.New("objects that must be deleted first are still there")},
	}
}

func TestDeleteGolden(t *testing.T) {
	for name, o := range map[string]output.Options{
		"table":        {},
		"table-colour": {Color: true},
		"json":         {Format: output.JSON, Run: "01J"},
		"yaml":         {Format: output.YAML, Run: "01J"},
		"name":         {Format: output.Name},
		"stream":       {Format: output.Stream, Run: "01J"},
		"junit":        {Format: output.JUnit},
	} {
		t.Run(name, func(t *testing.T) { golden(t, "delete-"+name, run(t, printer.OfDelete, o, deleteStory())) })
	}
}

// If a reader sees stderr and the results in one place, each cause is printed once, during the wait
// or at the end. If the reader sees only the results, the results have all causes.
func TestCauseIsPrintedOnce(t *testing.T) {
	width := func() int { return 110 }
	for name, test := range map[string]struct {
		options output.Options
		alone   bool // stdout is read without stderr
	}{
		"both on a terminal":  {options: output.Options{Width: width, Progress: true, ErrWidth: width}},
		"results into a file": {options: output.Options{Progress: true, ErrWidth: width}, alone: true},
		"both into files":     {options: output.Options{}, alone: true},
		"names":               {options: output.Options{Format: output.Name}},
		"a report on stdout, and a log on stderr": {options: output.Options{Format: output.JUnit}},
		"stderr into a file":                      {options: output.Options{Width: width}, alone: true},
		"a report, with stderr on a terminal":     {options: output.Options{Format: output.JUnit, Width: width, Progress: true, ErrWidth: width}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, printer.OfDelete, test.options, deleteStory())
			const next = "next     kubectl scale deployment/operator"
			read := got.err
			if test.options.Width != nil && test.options.Progress && test.options.Format == "" {
				read += got.out
			}
			if n := strings.Count(read, next); n != 1 {
				t.Errorf("the cause is printed %d times, want once:\n%s", n, read)
			}
			if test.alone && !strings.Contains(got.out, next) {
				t.Errorf("the cause is missing in the results:\n%s", got.out)
			}
			// At the end, everything is reported that was not reported before.
			var unreported []event.Event
			for _, e := range deleteStory() {
				if _, reported := e.(event.Stuck); !reported {
					unreported = append(unreported, e)
				}
			}
			if got := run(t, printer.OfDelete, test.options, unreported); !strings.Contains(got.out+got.err, next) {
				t.Errorf("the cause is missing at the end:\n%s", got.out+got.err)
			}
		})
	}
}

// stuckStory is a cluster in which one dead operator blocks many objects, and one more object is
// stuck.
func stuckStory() []event.Event {
	lonely := ref("v1", "PersistentVolumeClaim", "prod", "data")
	events := []event.Event{event.Planned{}}
	var held []object.Ref
	for i := range 12 {
		name := fmt.Sprintf("w-%02d", i)
		held = append(held, widget(name))
		events = append(events, event.Stuck{Ref: widget(name), Since: ago(time.Hour), Causes: []event.Cause{gone(name)}})
	}
	return append(events,
		event.Stuck{Ref: lonely, Since: ago(time.Minute), Err: errors.New("pods is forbidden")},
		event.Rooted{Cause: gone("all"), Holds: held},
	)
}

func TestStuckGolden(t *testing.T) {
	for name, o := range map[string]output.Options{
		"table":  {},
		"json":   {Format: output.JSON, Run: "01J"},
		"name":   {Format: output.Name},
		"stream": {Format: output.Stream, Run: "01J"},
		"junit":  {Format: output.JUnit},
	} {
		t.Run(name, func(t *testing.T) { golden(t, "stuck-"+name, run(t, printer.OfStuck, o, stuckStory())) })
	}
	nothing := run(t, printer.OfStuck, output.Options{}, []event.Event{event.Planned{}})
	if nothing.out != "nothing is terminating\n" {
		t.Errorf("without stuck objects: got %q", nothing.out)
	}
}

// The time at which a Pod's grace period ends is not reported as the start of its deletion.
func TestGracePeriodIsNotReportedAsDelay(t *testing.T) {
	got := run(t, printer.OfStuck, output.Options{}, []event.Event{
		event.Planned{}, event.Stuck{Ref: widget("w"), Since: ago(-time.Minute), Causes: []event.Cause{gone("w")}},
	})
	if strings.Contains(got.out, " for ") {
		t.Errorf("an object within its grace period is reported as slow:\n%s", got.out)
	}
}

// If many objects share a cause, the cause is printed once during the wait, and once in the
// results.
func TestSharedCauseIsPrintedOnce(t *testing.T) {
	events := []event.Event{event.Planned{}}
	for i := range 200 {
		name := fmt.Sprint("w", i)
		events = append(events,
			event.Stuck{Ref: widget(name), Causes: []event.Cause{gone(name)}},
			event.Deleted{Ref: widget(name), Action: event.Remains, Causes: []event.Cause{gone(name)}})
	}
	got := run(t, printer.OfDelete, output.Options{}, events)
	for stream, text := range map[string]string{"stdout": got.out, "stderr": got.err} {
		if n := strings.Count(text, "kubectl scale"); n != 1 {
			t.Errorf("%s has %d commands, want 1", stream, n)
		}
		if n := strings.Count(text, "\n"); n > 20 {
			t.Errorf("%s has %d lines", stream, n)
		}
	}
	if !strings.Contains(got.out, "and 197 more objects") || !strings.Contains(got.out, "200 terminating") {
		t.Errorf("the number of objects is missing:\n%s", got.out)
	}
}
