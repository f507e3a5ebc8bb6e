package printer_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
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

// firstApply returns the events of a first apply in several namespaces. One object has a note, and
// one fails.
func firstApply(namespaces int) []event.Event {
	var refs []object.Ref
	var events []event.Event
	add := func(ref object.Ref, a event.Applied) {
		a.Ref = ref
		refs, events = append(refs, ref), append(events, a)
	}
	for n := range namespaces {
		name := fmt.Sprintf("n-%d", n)
		add(ref("v1", "Namespace", "", name), event.Applied{Action: event.Created})
		add(ref("v1", "ConfigMap", name, "a"), event.Applied{Action: event.Created})
		add(ref("networking.k8s.io/v1", "NetworkPolicy", "n-0", name), event.Applied{Action: event.Configured})
	}
	add(ref("v1", "ConfigMap", "n-0", "broken"), event.Applied{Action: event.Failed, Err: errors.New("no")})
	add(ref("v1", "Secret", "n-0", "one"), event.Applied{Action: event.Created})
	add(ref("v1", "ConfigMap", "n-0", "noted"), event.Applied{
		Action: event.Configured, Taken: []managedfields.Change{{Path: fieldpath.Field("data", "a"), Owners: []managedfields.Owner{flux()}}},
	})
	return append([]event.Event{event.Planned{Phases: []event.Phase{{Name: "one", Total: len(refs), Refs: refs}}}}, events...)
}

// More results than fit are folded by action and kind. Notes and failures are below them.
func TestManyResultsAreFolded(t *testing.T) {
	const want = `created     30 Namespaces
created     30 ConfigMaps in 30 namespaces: n-0, n-1, n-2 and 27 more
configured  30 NetworkPolicies -n n-0
created     secret/one -n n-0
configured  configmap/noted -n n-0
    taken    .data.a  from flux (Apply, 3d ago)
failed      configmap/broken -n n-0
    no
61 created, 31 configured, 1 failed
`
	for name, o := range map[string]output.Options{
		"log":      {},
		"terminal": {Width: columns(100), Height: columns(24)},
	} {
		if diff := cmp.Diff(want, run(t, printer.OfApply, o, firstApply(30)).out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	colored := run(t, printer.OfApply, output.Options{Color: true, Width: columns(100)}, firstApply(30)).out
	if plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored, ""); plain != want {
		t.Errorf("in colour:\n%s", colored)
	}
	each := run(t, printer.OfApply, output.Options{Verbose: true}, firstApply(30)).out
	if n := strings.Count(each, "\ncreated     configmap/a -n n-"); n != 30 {
		t.Errorf("-v 1 lists %d objects:\n%s", n, each)
	}
}

// Up to 50 results in a log, and a screen of them on a terminal, are listed in plan order.
func TestFewResultsAreListed(t *testing.T) {
	for rows, want := range map[int]bool{24: false, 60: true, 0: true} {
		got := run(t, printer.OfApply, output.Options{Width: columns(100), Height: columns(rows)}, firstApply(15)).out
		if listed := strings.Contains(got, "created     configmap/a -n n-0\nconfigured  networkpolicy.networking.k8s.io/n-0 -n n-0\n"); listed != want {
			t.Errorf("%d rows: listed %t\n%s", rows, listed, got)
		}
	}
	var events []event.Event
	for i := range 60 {
		events = append(events, event.Deleted{Ref: ref("v1", "ConfigMap", fmt.Sprintf("n-%d", i%2), fmt.Sprint(i)), Action: event.Gone})
	}
	if got := run(t, printer.OfDelete, output.Options{}, events).out; got != "deleted      60 ConfigMaps in 2 namespaces: n-0, n-1\n60 deleted\n" {
		t.Error(got)
	}
}

// If the results do not fit on a screen, failures of an early phase are below all that went well, where
// people look. They are printed before the final wait, which can be long.
func TestFailuresOfManyResultsAreLast(t *testing.T) {
	names := func(kind string, n int) (refs []object.Ref) {
		for i := range n {
			refs = append(refs, ref("v1", kind, "prod", fmt.Sprintf("%s-%d", strings.ToLower(kind), i)))
		}
		return refs
	}
	events := func(n int, between ...event.Event) []event.Event {
		early, late := names("ServiceAccount", n), names("ConfigMap", n)
		out := []event.Event{
			event.Planned{Phases: []event.Phase{{Name: "early", Total: n, Refs: early}, {Name: "late", Total: n, Refs: late}}},
			event.PhaseStarted{Index: 0},
			event.Applied{Ref: early[0], Action: event.Failed, Err: errors.New("refused")},
		}
		for _, ref := range early[1:] {
			out = append(out, event.Applied{Ref: ref, Action: event.Created})
		}
		out = append(append(out, between...), event.PhaseStarted{Index: 1})
		for _, ref := range late {
			out = append(out, event.Applied{Ref: ref, Action: event.Created})
		}
		return out
	}
	const failed = "failed      serviceaccount/serviceaccount-0 -n prod\n    refused\n"
	few := run(t, printer.OfApply, output.Options{}, events(3)).out
	if !strings.Contains(few, failed+"created     configmap/configmap-0 -n prod\n") {
		t.Errorf("on a screen, the results are not in the order of phases:\n%s", few)
	}
	many := run(t, printer.OfApply, output.Options{}, events(60)).out
	if !strings.HasSuffix(many, "created     60 ConfigMaps -n prod\n"+failed+"119 created, 1 failed\n") {
		t.Errorf("the failure is not the last result:\n%s", many)
	}
	waits := event.Waiting{Ref: ref("v1", "ServiceAccount", "prod", "serviceaccount-1"), For: "it"}
	if between := run(t, printer.OfApply, output.Options{}, events(60, waits)).out; between != many {
		t.Errorf("a wait between the phases changes the order:\n%s", between)
	}
	var out strings.Builder
	p, err := printer.For(printer.OfApply, output.Options{Out: &out, Err: io.Discard, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(events(60), waits) {
		p.Print(e)
	}
	if !strings.HasSuffix(out.String(), failed) {
		t.Errorf("the failure is not printed before the final wait:\n%s", &out)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
