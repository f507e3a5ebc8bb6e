package printer_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

func fought() event.Fights {
	var five, three any = int64(5), int64(3)
	argo := &managedfields.Owner{Manager: "argocd-controller", Operation: managedfields.Apply}
	recorded := &event.Transition{Path: ".spec.replicas", Count: 8412, First: noon().Add(-16 * time.Hour), Last: noon(), User: "system:serviceaccount:argocd:controller"}
	keda := &managedfields.Owner{Manager: "keda-operator", Operation: managedfields.Update}
	hpa := &managedfields.Owner{Manager: "kube-controller-manager", Operation: managedfields.Update, Subresource: "scale"}
	kind := ref("apps/v1", "StatefulSet", "", "")
	return event.Fights{
		Objects: 41_300, For: time.Minute, Unclear: 1,
		Found: []event.Fight{
			{
				Ref: ref("apps/v1", "Deployment", "shop", "web"), Class: event.SeveralOwners, Writes: 84, Next: []string{"give a", "give b"},
				Paths: []event.FoughtPath{{Path: fieldpath.Field("spec", "replicas"), Values: []*any{&five, &three}, Writers: []*managedfields.Owner{argo, keda}, Recorded: recorded}},
			},
			{
				Ref: ref("v1", "ConfigMap", "shop", "a"), Class: event.SeveralOwners, Writes: 1,
				Paths: []event.FoughtPath{{Path: fieldpath.Field("data", "x"), Values: []*any{nil, &three, &five}, Writers: []*managedfields.Owner{hpa, argo, nil}}},
			},
			{
				Ref: ref("v1", "Secret", "shop", "b"), Class: event.OneWriter, Writes: 31,
				Paths: []event.FoughtPath{{Path: fieldpath.Field("data", "x"), Writers: []*managedfields.Owner{keda}}},
			},
			{Ref: ref("v1", "ConfigMap", "shop", "c"), Class: event.NoChange, Writes: 31, Writers: []*managedfields.Owner{argo, nil}},
			{Ref: kind, Class: event.NotStored, Writes: 31},
		},
		Unstored:  []event.Fight{{Ref: kind, Class: event.NotStored, Writes: 7}},
		Uncounted: errors.New("no"),
		Unread:    []event.Unread{{Ref: ref("v1", "Pod", "", ""), Err: errors.New("no")}},
	}
}

func TestFightsTable(t *testing.T) {
	const want = `deployment.apps/web -n shop   84 writes a minute
    .spec.replicas  5 ↔ 3  argocd-controller (Apply) ↔ keda-operator (Update)
    recorded  8412 owner changes since 2026-02-28T20:00:00Z, the last at 2026-03-01T12:00:00Z by user system:serviceaccount:argocd:controller
    next  give a
    or    give b
    also remove the field from the other tool's manifest: a tool that applies by force takes the field back
configmap/a -n shop           1 write a minute
    .data.x  none ↔ 3 ↔ 5  kube-controller-manager (scale) ↔ argocd-controller (Apply) ↔ unknown
    more than two writers: decide which one keeps the field, and make the others stop writing it
secret/b -n shop              31 writes a minute
    .data.x  keda-operator (Update), back and forth
configmap/c -n shop           31 writes a minute, and nothing changes
    written by argocd-controller (Apply), unknown
statefulset.apps              31 writes a minute, and nothing changes
    object and writer: unknown; the API server does not store such writes, so only its audit log shows them
5 of 41300 objects; 60s; 1 kind not watched; writes that change nothing not counted
not judged: 1 more object with repeated writes; name a TYPE to include them
statefulset.apps: 7 writes a minute, and nothing changes; this may be one write per object, as when a tool reapplies all objects
`
	if got := run(t, printer.OfFights, output.Options{Now: noon}, []event.Event{fought()}).out; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	many := fought()
	for range 9 {
		many.Found[0].Paths = append(many.Found[0].Paths, many.Found[0].Paths[0])
	}
	if got := run(t, printer.OfFights, output.Options{Now: noon}, []event.Event{many}).out; !strings.Contains(got, "\n    and 2 more paths\n    next  give a\n") {
		t.Error(got)
	}
	none := event.Fights{Objects: 3, For: 90 * time.Second, Namespace: "shop"}
	if got := run(t, printer.OfFights, output.Options{}, []event.Event{none}).out; got != "in namespace shop: no fights; watched 3 objects for 90s\n" {
		t.Error(got)
	}
	missed := event.Fights{Objects: 3, For: time.Minute, Uncounted: errors.New("no")}
	if got := run(t, printer.OfFights, output.Options{}, []event.Event{missed}).out; got != "no fights found, but some may have been missed; watched 3 objects for 60s; writes that change nothing not counted\n" {
		t.Error(got)
	}
}

// A terminal shows what was found so far above the status line.
func TestFightsLive(t *testing.T) {
	term := &terminal{}
	synctest.Test(t, func(t *testing.T) {
		p, err := printer.For(printer.OfFights, output.Options{Out: term, Err: term, Now: time.Now, Progress: true, Width: columns(80), ErrWidth: columns(80)})
		if err != nil {
			t.Fatal(err)
		}
		p.Print(event.Preparing{Text: "watching 9 objects", Since: time.Now(), Within: time.Minute, Found: []string{"deployment.apps/web -n shop  84 writes a minute"}})
		pass(5 * time.Second)
		if above := strings.Join(term.lines, "\n"); above != "  deployment.apps/web -n shop  84 writes a minute" {
			t.Errorf("above the line: %q", above)
		}
		p.Print(event.Fights{})
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if got := strings.Join(term.frames, "\n"); !strings.Contains(got, "watching 9 objects (5s of 1m)") {
		t.Error(got)
	}
}

func TestFightsDocument(t *testing.T) {
	got := run(t, printer.OfFights, output.Options{Format: output.JSON}, []event.Event{fought()}).out
	for _, want := range []string{
		`"kind": "FightsResult"`, `"seconds": 60`, `"objects": 41300`, `"class": "several-owners"`, `"writesPerMinute": 84`, `"manager": "keda-operator"`,
		`"unknown": true`, `"class": "not-stored"`, `"notStored": [`, `"uncounted": {`, `"unread": [`, `"unclear": 1`, `"count": 8412`, `"user": "system:serviceaccount:argocd:controller"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if _, err := printer.For(printer.OfFights, output.Options{Format: output.YAML}); err == nil {
		t.Error("-o yaml")
	}
}
