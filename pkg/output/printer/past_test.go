package printer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

func rolled() event.Past {
	image := fieldpath.Field("spec", "template", "spec", "containers").Item("name", "app").Child(fieldpath.FieldElement("image"))
	keel := &managedfields.Owner{Manager: "keel", Operation: managedfields.Update}
	args := fieldpath.Field("spec", "template", "spec", "nodeSelector")
	return event.Past{
		Ref: ref("apps/v1", "Deployment", "shop", "web"), Rolls: true,
		Revisions: []event.Revision{
			{
				Number: 9, Live: true, Reason: event.RollImagePolicy, Time: noon().Add(-time.Hour), Since: 5, ChangeCause: "release | 7",
				Changes: []event.RevisionChange{{
					Change: managedfields.Change{Path: image, From: "registry.example/web:1.2", To: "registry.example/web:1.3", Kind: managedfields.Changed},
					Writer: keel, Time: noon().Add(-time.Hour), User: "jane",
				}},
			},
			{
				Number: 5, Reason: event.RollUndo, After: noon().Add(-2 * time.Hour), Of: 3, Since: 4,
				Changes: []event.RevisionChange{
					{Change: managedfields.Change{Path: args, From: map[string]any{"disk": "ssd"}, Kind: managedfields.Removed}},
					{Change: managedfields.Change{Path: image, To: "x", Kind: managedfields.Added, Owners: []managedfields.Owner{*keel}}},
				},
			},
			{Number: 4, Reason: event.RollUnknown, Time: noon().Add(-3 * time.Hour)},
		},
		Records: &event.History{
			Coverage: event.Coverage{Since: noon().Add(-24 * time.Hour)},
			Transitions: []event.Transition{{
				Path: ".spec.replicas", Kind: "taken", From: []managedfields.Owner{*keel}, To: []managedfields.Owner{*keel}, FromValue: "5", ToValue: "0",
				Count: 1, First: noon(), Last: noon(), User: "joe",
			}},
		},
	}
}

// The history fits 80 columns: a path and its values are on two lines if one is too narrow.
func TestPast(t *testing.T) {
	for _, format := range []string{output.Table, output.JSON, output.YAML, output.Markdown} {
		t.Run(format, func(t *testing.T) {
			got := run(t, printer.OfPast, output.Options{Format: format, Width: columns(80)}, []event.Event{rolled()})
			for line := range strings.Lines(got.out) {
				if format == output.Table && len([]rune(line)) > 81 {
					t.Errorf("wider than 80 columns: %s", line)
				}
			}
			golden(t, "past-"+format, got)
		})
	}
}

// An object that is missing says when its deletion would have been recorded, unless it was.
func TestPastOfMissing(t *testing.T) {
	watched := event.Coverage{Since: noon().Add(-24 * time.Hour)}
	gone := deletions().Found[4]
	gap := watched
	gap.Until = noon().Add(-40 * time.Second)
	gap.Gaps = []event.Gap{{From: noon(), To: noon().Add(time.Minute)}}
	missing := func(name string, d event.Deletions) event.Event {
		return event.Past{Ref: ref("v1", "ConfigMap", "shop", name), Missing: true, Deletions: d}
	}
	events := []event.Event{
		missing("never", event.Deletions{Coverage: gap, Limits: []string{"only since 2026-01-03T00:00:00Z: ConfigMap"}, Dropped: 2, Until: noon()}),
		missing("one", event.Deletions{Coverage: watched, Found: []event.Deletion{gone}}),
		missing("perhaps-again", event.Deletions{Coverage: gap, Found: []event.Deletion{gone}}),
	}
	for _, format := range []string{output.Table, output.JSON, output.Markdown} {
		t.Run(format, func(t *testing.T) {
			golden(t, "past-missing-"+format, run(t, printer.OfPast, output.Options{Format: format, Width: columns(80)}, events))
		})
	}
}

func deletions() event.Deletions {
	flux := []managedfields.Owner{{Manager: "flux", Operation: managedfields.Apply}}
	at := func(kind, namespace, name string, d event.Deletion) event.Deletion {
		d.Ref, d.UID, d.Gone = ref("v1", kind, namespace, name), name, noon()
		return d
	}
	with := event.Deletion{By: "namespace", ViaKind: "Namespace", Via: "old"}
	asked := at("PersistentVolumeClaim", "shop", "data", event.Deletion{By: "user", User: "jane", Asked: noon(), Owners: flux})
	asked.Gone = time.Time{}
	byController := event.Deletion{By: "controller", User: "system:serviceaccount:kube-system:job-controller"}
	earlier := at("Pod", "shop", "three-b", byController)
	earlier.Gone = noon().Add(-2 * time.Minute)
	return event.Deletions{
		Where: " in the cluster", From: noon().Add(-time.Hour), Dropped: 12, Until: noon().Add(-time.Minute),
		Coverage: event.Coverage{Since: noon().Add(-24 * time.Hour)},
		Found: []event.Deletion{
			asked,
			at("ConfigMap", "old", "a", with), at("ConfigMap", "old", "b", with), at("Pod", "old", "c", with),
			at("ConfigMap", "shop", "one", event.Deletion{By: "user", User: "jane", Asked: noon().Add(-time.Minute), Owners: flux}),
			at("Pod", "shop", "two", event.Deletion{By: "owner", ViaKind: "Job", Via: "backup"}),
			at("Pod", "shop", "three", byController), earlier,
			at("ReplicaSet", "shop", "six", event.Deletion{By: "unknown", ViaKind: "Deployment", Via: "nosuch"}),
			at("Pod", "shop", "four", event.Deletion{By: "unknown", Gap: true}),
			at("Pod", "shop", "five", event.Deletion{By: "user", Several: true}),
		},
	}
}

// Objects that went with one owner or namespace, or by a controller, share a line; JSON has all of them.
func TestDeletions(t *testing.T) {
	for _, format := range []string{output.Table, output.JSON, output.Markdown} {
		t.Run(format, func(t *testing.T) {
			golden(t, "deletions-"+format, run(t, printer.OfDeletions, output.Options{Format: format, Width: columns(80)}, []event.Event{deletions()}))
		})
	}
}
