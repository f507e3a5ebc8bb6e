package printer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// Edge case 33: a path that is no longer in the manifest is removed from the object, or kept by its
// other owners.
func TestRemovedOrKept(t *testing.T) {
	applied := event.Applied{
		Ref: config("a"), Action: event.Configured,
		Removed:  []managedfields.Change{{Path: path(t, ".data.gone"), From: "x", Kind: managedfields.Removed}},
		Released: []managedfields.Change{{Path: path(t, ".data.shared"), From: "y", To: "y", Kind: managedfields.Released, Owners: []managedfields.Owner{flux()}}},
	}
	const want = `configured  configmap/a -n prod
    removed  .data.gone  was x
    kept     .data.shared  by flux (Apply, 3d ago)
1 configured
`
	got := run(t, printer.OfApply, output.Options{}, []event.Event{applied})
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Edge case 38: an object that the server could not check is shown whole, with a note that it was
// not checked. The same holds in a dry run.
func TestNotChecked(t *testing.T) {
	const why = "namespace prod is created by this set: not checked by the server"
	diff := run(t, printer.OfDiff, output.Options{}, []event.Event{
		event.Compared{Ref: config("a"), Action: event.Create, Reason: why, After: named("ConfigMap", "a")},
	})
	const wantDiff = "create  configmap/a -n prod\n# " + why + "\n--- /dev/null\n+++ applied\n@@ -0,0 +1,4 @@\n" +
		"+apiVersion: v1\n+kind: ConfigMap\n+metadata:\n+  name: a\n"
	if diff := cmp.Diff(wantDiff, diff.out); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
	apply := run(t, printer.OfApply, output.Options{DryRun: true}, []event.Event{
		event.Applied{Ref: config("a"), Action: event.Created, DryRun: true, Reason: why},
	})
	const wantApply = "created     configmap/a -n prod (dry run): " + why + "\n1 created (dry run: nothing was written)\n"
	if diff := cmp.Diff(wantApply, apply.out); diff != "" {
		t.Errorf("apply (-want +got):\n%s", diff)
	}
	document := run(t, printer.OfApply, output.Options{Format: output.JSON}, []event.Event{
		event.Applied{Ref: config("a"), Action: event.Created, Reason: why},
	})
	if !strings.Contains(document.out, `"reason": "`+why+`"`) {
		t.Errorf("not in the document:\n%s", document.out)
	}
}

// Edge case 5: an atomic path is marked, because its value changes as a whole.
func TestAtomic(t *testing.T) {
	tests := map[string]struct {
		change managedfields.Change
		want   string
	}{
		"changed": {
			managedfields.Change{Path: path(t, ".spec.selector"), Kind: managedfields.Changed, Atomic: true},
			"# changed    .spec.selector (atomic: one value, replaced as a whole)\n",
		},
		"contested": {
			managedfields.Change{Path: path(t, ".spec.selector"), Kind: managedfields.Contested, Atomic: true, Owners: []managedfields.Owner{flux()}},
			"# contested  .spec.selector (atomic: one value, replaced as a whole)  owned by flux (Apply, 3d ago)\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := run(t, printer.OfDiff, output.Options{}, []event.Event{
				event.Compared{Ref: web(), Action: event.Update, Changes: []managedfields.Change{tt.change}},
			})
			if diff := cmp.Diff("update  deployment.apps/web -n prod\n"+tt.want, got.out); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A diff that predicts a conflict reports the conflict separately from the diff itself.
func TestContestedDiffWarns(t *testing.T) {
	got := run(t, printer.OfDiff, output.Options{}, diffStory(t))
	const want = "1 contested path: apply stops there unless you use --take or --yield\n"
	if !strings.HasSuffix(got.err, want) || strings.Contains(got.out, want) {
		t.Errorf("stderr does not end with %q:\n%s", want, got.err)
	}
}

// Edge case 30: an adoption removes the last-applied annotation. As this annotation repeats the
// whole object, only its size is shown. An annotation that changes or stays is shown in full.
func TestLastAppliedIsFolded(t *testing.T) {
	annotated := func(text string) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{managedfields.LastAppliedAnnotation: text}}}
	}
	const text = `{"kind":"ConfigMap"}`
	masked := run(t, printer.OfDiff, output.Options{}, []event.Event{
		event.Compared{Ref: config("a"), Action: event.Update, Before: annotated("***"), After: map[string]any{}},
	})
	if strings.Contains(masked.out, "bytes") {
		t.Errorf("the size of a mask is shown:\n%s", masked.out)
	}
	for name, tt := range map[string]struct {
		after map[string]any
		want  string
	}{
		"removed": {map[string]any{}, "@@ -1,3 +0,0 @@\n-metadata:\n-  annotations:\n-    kubectl.kubernetes.io/last-applied-configuration: (20 bytes)\n"},
		"changed": {annotated("{}"), " metadata:\n   annotations:\n-    kubectl.kubernetes.io/last-applied-configuration: '{\"kind\":\"ConfigMap\"}'\n+    kubectl.kubernetes.io/last-applied-configuration: '{}'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			before := annotated(text)
			got := run(t, printer.OfDiff, output.Options{}, []event.Event{
				event.Compared{Ref: config("a"), Action: event.Update, Before: before, After: tt.after},
			})
			if !strings.HasSuffix(got.out, tt.want) {
				t.Errorf("no %q in:\n%s", tt.want, got.out)
			}
			if diff := cmp.Diff(annotated(text), before); diff != "" {
				t.Errorf("the event is changed: %s", diff)
			}
		})
	}
}

// The output of a client dry run does not look like that of a completed run.
func TestClientDryRun(t *testing.T) {
	got := run(t, printer.OfApply, output.Options{DryRun: true, Unasked: true}, []event.Event{
		event.Applied{Ref: config("a"), Action: event.Created, DryRun: true},
		event.Applied{Ref: config("b"), Action: event.Configured, DryRun: true},
		event.Applied{Ref: config("c"), Action: event.Unchanged, DryRun: true},
	})
	const want = `created     configmap/a -n prod (client dry run)
configured  configmap/b -n prod (client dry run)
1 to create, 1 to send, 1 unchanged (client dry run: nothing was written or checked)
`
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
