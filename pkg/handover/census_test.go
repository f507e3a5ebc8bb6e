package handover

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/fieldstest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/give"
)

// A giver who owns nothing of any object is a slip, or has given all away already. A job that
// repeats itself ends well: the receiver owns something, and no owner has a name like the giver's.
// Who was perhaps meant is named, and what could be given is given.
func TestGiverOfNothing(t *testing.T) {
	path := func(text string) []fieldpath.Path {
		p, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return []fieldpath.Path{p}
	}
	for name, tt := range map[string]struct {
		names   []string
		wish    give.Wish
		lenient bool
		says    string
		fails   bool
	}{
		"a slip": {
			names: []string{"a", "b"}, lenient: true, wish: give.Wish{From: []string{"edti"}, To: "flux"}, fails: true,
			says: "--from: edti owns nothing of the 2 objects (did you mean edit?); managers that own something: edit, flux",
		},
		"a slip beside who owns something": {
			names: []string{"a"}, lenient: true, wish: give.Wish{From: []string{"edit", "flxu"}, To: "edit"}, fails: true,
			says: "--from: flxu owns nothing of the 1 object (did you mean flux?); managers that own something: edit, flux",
		},
		"a path that its receiver has": {names: []string{"a"}, wish: give.Wish{Paths: path(".data.b"), From: []string{"edti"}, To: "flux"}},
		"a path that nobody has": {
			names: []string{"a"}, lenient: true, wish: give.Wish{Paths: path(".data.c"), From: []string{"edti"}, To: "flux"}, fails: true,
			says: "--from: edti owns nothing of the 1 object (did you mean edit?); managers that own something: edit, flux",
		},
		"a result says so":  {names: []string{"a"}, wish: give.Wish{From: []string{"edti"}, To: "flux"}, fails: true},
		"an object is gone": {names: []string{"gone", "a"}, lenient: true, wish: give.Wish{From: []string{"edti"}, To: "flux"}, fails: true},
		"nobody is named":   {names: []string{"a"}, lenient: true, wish: give.Wish{Paths: path(".data.a"), To: "flux"}},
		"a repetition": {
			names: []string{"a", "b"}, lenient: true, wish: give.Wish{From: []string{"kubectl"}, To: "flux"},
			says: "--from: kubectl owns nothing of the 2 objects, so there is nothing to give: all of it was given before, or the name is wrong; managers that own something: edit, flux",
		},
		"a repetition with names": {
			names: []string{"a"}, wish: give.Wish{From: []string{"kubectl"}, To: "flux"},
			says: "--from: kubectl owns nothing of the 1 object, so there is nothing to give: all of it was given before, or the name is wrong; managers that own something: edit, flux",
		},
		"a repetition to a name like it": {
			names: []string{"a"}, wish: give.Wish{From: []string{"flux2"}, To: "flux"},
			says: "--from: flux2 owns nothing of the 1 object, so there is nothing to give: all of it was given before, or the name is wrong; managers that own something: edit, flux",
		},
		"a release again": {
			names: []string{"a"}, wish: give.Wish{From: []string{"kubectl"}, Mode: give.Release},
			says: "--from: kubectl owns nothing of the 1 object, so there is nothing to give: all of it was given before, or the name is wrong; managers that own something: edit, flux",
		},
		"who shares keeps": {
			names: []string{"a"}, lenient: true, wish: give.Wish{From: []string{"kubectl"}, To: "flux", Mode: give.Share}, fails: true,
			says: "--from: kubectl owns nothing of the 1 object; managers that own something: edit, flux",
		},
		"the receiver has nothing": {
			names: []string{"a"}, lenient: true, wish: give.Wish{From: []string{"kubectl"}, To: "helm", As: managedfields.Apply}, fails: true,
			says: "--from: kubectl owns nothing of the 1 object; managers that own something: edit, flux",
		},
		"the receiver has nothing, named": {
			names: []string{"a"}, wish: give.Wish{From: []string{"kubectl"}, To: "helm", As: managedfields.Apply}, fails: true,
		},
		"one of two givers had nothing to give": {
			names: []string{"a"}, lenient: true, wish: give.Wish{From: []string{"edit", "kubectl"}, To: "helm", As: managedfields.Apply},
			says: "--from: kubectl owns nothing of the 1 object, so there is nothing to give: all of it was given before, or the name is wrong; managers that own something: edit, flux",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := handing(t, "a", "b")
			s.engine.Wish, s.engine.Lenient = tt.wish, tt.lenient
			var said []string
			emit := s.engine.Emit
			s.engine.Emit = func(e event.Event) {
				if w, is := e.(event.Warned); is {
					said = append(said, w.Text)
				}
				emit(e)
			}
			var targets []Target
			for _, name := range tt.names {
				targets = append(targets, target(name))
			}
			if err := s.engine.Run(t.Context(), targets); (err != nil) != tt.fails || strings.Join(said, "\n") != tt.says {
				t.Errorf("%v, %q, want %q", err, said, tt.says)
			}
		})
	}
}

// What was given is not given again, with or without names, and the second run ends well.
func TestGivenTwice(t *testing.T) {
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
			t.Errorf("lenient %t: %v, %+v, %+v", lenient, err, a, b)
		}
		if slices.ContainsFunc(s.server.calls, func(c string) bool { return strings.HasPrefix(c, "put") }) {
			t.Errorf("lenient %t: %q", lenient, s.server.calls)
		}
	}
}

// A second run ends as the first did also where a field stays with its owner because the receiver's
// manifest does not state it. One that stays because of its version is refused.
func TestGivenTwiceWithARemainder(t *testing.T) {
	run := func(version string) (left []event.Withheld, first, second error) {
		s := handing(t, "a")
		fields, _, _ := unstructured.NestedSlice(s.server.live["a"].Object, "metadata", "managedFields")
		edit := fields[0].(map[string]any)
		edit["apiVersion"] = version
		edit["fieldsV1"] = map[string]any{"f:data": map[string]any{"f:a": map[string]any{}, "f:c": map[string]any{}}}
		if err := unstructured.SetNestedSlice(s.server.live["a"].Object, fields, "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
		of := target("a")
		of.Stated = fieldstest.Read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '1'}}")
		first = s.engine.Run(t.Context(), []Target{of})
		second = s.engine.Run(t.Context(), []Target{of})
		return s.given["a"].Left, first, second
	}
	if left, first, second := run("v1"); first != nil || second != nil || len(left) != 1 || left[0].Paths[0].String() != ".data.c" {
		t.Errorf("%v, then %v, left %v", first, second, left)
	}
	if _, first, second := run("v1alpha1"); first == nil || second == nil {
		t.Errorf("%v, then %v", first, second)
	}
}
