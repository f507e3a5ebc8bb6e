package give

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// A giver that owns nothing in any object is a typo, or has given everything away before. If a job
// is repeated, it succeeds: the receiver owns fields, and no owner has a name similar to the
// giver's. For a typo, the warning suggests the likely manager, and the fields of the other givers
// are transferred.
func TestGiverThatOwnsNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		names   []string
		wish    transfer.Wish
		lenient bool
		says    string
		fails   bool
	}{
		"a typo": {
			names: []string{"a", "b"}, lenient: true, wish: transfer.Wish{From: []string{"edti"}, To: "flux"}, fails: true,
			says: "--from: edti (did you mean edit?) owns nothing in the 2 objects; managers that own something: edit, flux",
		},
		"a typo next to a giver that owns fields": {
			names: []string{"a"}, lenient: true, wish: transfer.Wish{From: []string{"edit", "flxu"}, To: "edit"}, fails: true,
			says: "--from: flxu (did you mean flux?) owns nothing in the 1 object; managers that own something: edit, flux",
		},
		"two typos": {
			names: []string{"a"}, lenient: true, wish: transfer.Wish{From: []string{"edti", "edtt"}, To: "flux"}, fails: true,
			says: "--from: edti (did you mean edit?) or edtt (did you mean edit?) owns nothing in the 1 object; managers that own something: edit, flux",
		},
		"a path that its receiver has": {names: []string{"a"}, wish: transfer.Wish{Paths: path(t, ".data.b"), From: []string{"edti"}, To: "flux"}},
		"a path without an owner": {
			names: []string{"a"}, lenient: true, wish: transfer.Wish{Paths: path(t, ".data.c"), From: []string{"edti"}, To: "flux"}, fails: true,
			says: "--from: edti (did you mean edit?) owns nothing in the 1 object; managers that own something: edit, flux",
		},
		"not lenient":       {names: []string{"a"}, wish: transfer.Wish{From: []string{"edti"}, To: "flux"}, fails: true},
		"an object is gone": {names: []string{"gone", "a"}, lenient: true, wish: transfer.Wish{From: []string{"edti"}, To: "flux"}, fails: true},
		"no giver is named": {names: []string{"a"}, lenient: true, wish: transfer.Wish{Paths: path(t, ".data.a"), To: "flux"}},
		"a repeated transfer": {
			names: []string{"a", "b"}, lenient: true, wish: transfer.Wish{From: []string{"kubectl"}, To: "flux"},
			says: "--from: kubectl owns nothing in the 2 objects, so there is nothing to give: the fields were given away before, or the name is wrong; managers that own something: edit, flux",
		},
		"a repeated transfer, not lenient": {
			names: []string{"a"}, wish: transfer.Wish{From: []string{"kubectl"}, To: "flux"},
			says: "--from: kubectl owns nothing in the 1 object, so there is nothing to give: the fields were given away before, or the name is wrong; managers that own something: edit, flux",
		},
		"a repeated transfer to a manager with a similar name": {
			names: []string{"a"}, wish: transfer.Wish{From: []string{"flux2"}, To: "flux"},
			says: "--from: flux2 owns nothing in the 1 object, so there is nothing to give: the fields were given away before, or the name is wrong; managers that own something: edit, flux",
		},
		"a repeated release": {
			names: []string{"a"}, wish: transfer.Wish{From: []string{"kubectl"}, Mode: transfer.Release},
			says: "--from: kubectl owns nothing in the 1 object, so there is nothing to give: the fields were given away before, or the name is wrong; managers that own something: edit, flux",
		},
		"a giver that shares keeps its fields": {
			names: []string{"a"}, lenient: true, wish: transfer.Wish{From: []string{"kubectl"}, To: "flux", Mode: transfer.Share}, fails: true,
			says: "--from: kubectl owns nothing in the 1 object; managers that own something: edit, flux",
		},
		"the receiver has nothing": {
			names: []string{"a"}, lenient: true, wish: transfer.Wish{From: []string{"kubectl"}, To: "helm", As: managedfields.Apply}, fails: true,
			says: "--from: kubectl owns nothing in the 1 object; managers that own something: edit, flux",
		},
		"the receiver owns nothing, not lenient": {
			names: []string{"a"}, wish: transfer.Wish{From: []string{"kubectl"}, To: "helm", As: managedfields.Apply}, fails: true,
		},
		"one of two givers had nothing to give": {
			names: []string{"a"}, lenient: true, wish: transfer.Wish{From: []string{"edit", "kubectl"}, To: "helm", As: managedfields.Apply},
			says: "--from: kubectl owns nothing in the 1 object, so there is nothing to give: the fields were given away before, or the name is wrong; managers that own something: edit, flux",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := handing(t, "a", "b")
			s.engine.Wish, s.engine.Lenient = tt.wish, tt.lenient
			var message []string
			emit := s.engine.Emit
			s.engine.Emit = func(e event.Event) {
				if w, is := e.(event.Warned); is {
					message = append(message, w.Text)
				}
				emit(e)
			}
			var targets []Target
			for _, name := range tt.names {
				targets = append(targets, target(name))
			}
			if err := s.engine.Run(t.Context(), targets); (err != nil) != tt.fails || strings.Join(message, "\n") != tt.says {
				t.Errorf("%v, %q, want %q", err, message, tt.says)
			}
		})
	}
}

func path(t *testing.T, text string) []fieldpath.Path {
	t.Helper()
	p, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return []fieldpath.Path{p}
}

// A second run has nothing to give and succeeds, with or without paths.
func TestRepeatedTransferChangesNothing(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		s := handing(t, "a", "b")
		s.engine.Lenient = lenient
		targets := []Target{target("a"), target("b")}
		if err := s.engine.Run(t.Context(), targets); err != nil {
			t.Fatal(err)
		}
		s.server.calls = nil
		err := s.engine.Run(t.Context(), targets)
		if a, b := s.given["a"], s.given["b"]; err != nil || a.Action != event.Unchanged || b.Action != event.Unchanged {
			t.Errorf("lenient %t: got error %v and results %+v and %+v, want them unchanged", lenient, err, a, b)
		}
		if slices.ContainsFunc(s.server.calls, func(c string) bool { return strings.HasPrefix(c, "put") }) {
			t.Errorf("lenient %t: the second run wrote: %q", lenient, s.server.calls)
		}
	}
}

// A second run has the same result as the first run and as its dry run, even if a field stays with
// its owner. If the field stays because the receiver's manifest lacks it, that is no failure. If it
// stays because of its API version, that is a failure.
func TestRepeatedTransferWithRemainingFields(t *testing.T) {
	entry := func(version string, names ...string) map[string]any {
		data := map[string]any{}
		for _, name := range names {
			data["f:"+name] = map[string]any{}
		}
		return map[string]any{
			"manager": "edit", "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": data},
		}
	}
	for name, tt := range map[string]struct {
		edit     []map[string]any
		mode     transfer.Mode
		declared bool
		left     string
		fails    bool
	}{
		"unstated":                {edit: []map[string]any{entry("v1", "a", "c")}, declared: true, left: ".data.c"},
		"all at another version":  {edit: []map[string]any{entry("v1alpha1", "a", "c")}, left: ".data.a", fails: true},
		"some at another version": {edit: []map[string]any{entry("v1", "a"), entry("v1alpha1", "c")}, left: ".data.c", fails: true},
		"some not in the manifest, some at another version": {edit: []map[string]any{entry("v1", "a", "d"), entry("v1alpha1", "c")}, declared: true, left: ".data.c", fails: true},
		"shared at another version":                         {edit: []map[string]any{entry("v1", "a"), entry("v1alpha1", "c")}, mode: transfer.Share, left: ".data.c", fails: true},
		"released at both versions":                         {edit: []map[string]any{entry("v1", "a"), entry("v1alpha1", "c")}, mode: transfer.Release},
		"no field stays":                                    {edit: []map[string]any{entry("v1", "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := handing(t, "a")
			fields, _, _ := unstructured.NestedSlice(s.server.live["a"].Object, "metadata", "managedFields")
			fields = fields[1:]
			for _, e := range tt.edit {
				fields = append(fields, e)
			}
			if err := unstructured.SetNestedSlice(s.server.live["a"].Object, fields, "metadata", "managedFields"); err != nil {
				t.Fatal(err)
			}
			if s.engine.Wish.Mode = tt.mode; tt.mode == transfer.Release {
				s.engine.Wish.To = ""
			}
			of := target("a")
			if tt.declared {
				of.Declared = fieldstest.Read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '1'}}")
			}
			for i, dry := range []object.DryRun{object.DryRunClient, object.DryRunServer, object.DryRunNone, object.DryRunNone, object.DryRunServer} {
				s.engine.DryRun = dry
				err := s.engine.Run(t.Context(), []Target{of})
				left := s.given["a"].Left
				if (err != nil) != tt.fails || tt.left != "" && (len(left) == 0 || left[0].Paths[0].String() != tt.left) || tt.left == "" && left != nil {
					t.Errorf("run %d: %v, left %v", i, err, left)
				}
			}
		})
	}
}
