package main

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

func TestWritten(t *testing.T) {
	at := func(versions_ ...string) lab.Versions {
		out := lab.Versions{}
		for i, v := range versions_ {
			out[lab.Name{Name: strconv.Itoa(i)}] = v
		}
		return out
	}
	tests := map[string]struct {
		work          string
		before, after lab.Versions
		wrong         string
	}{
		"created":                {workCreate, nil, at("1", "2", "3"), ""},
		"nothing written":        {workAgain, at("1", "2"), at("1", "2"), ""},
		"written for no change":  {workAgain, at("1", "2"), at("1", "3"), "1 of 2 objects were written, not 0"},
		"gone":                   {workAgain, at("1", "2"), at("1"), "0 of 1 objects were written, not 0"},
		"deleted":                {workDelete, at("1", "2"), nil, ""},
		"not all deleted":        {workDelete, at("1", "2"), at("1"), "1 of 2 objects are still there"},
		"diff wrote":             {workDiff, at("1", "2"), at("4", "3"), "2 of 2 objects were written, not 0"},
		"dry run wrote":          {workDryRun, at("1"), at("2"), "1 of 1 objects were written, not 0"},
		"two changed":            {workChange, at("1", "2", "3"), at("4", "5", "3"), ""},
		"all written, not two":   {workChange, at("1", "2", "3"), at("4", "5", "6"), "3 of 3 objects were written, not 2"},
		"a set":                  {workSet, nil, at("1", "2", "3"), ""},
		"written for no set":     {workSetAgain, at("1", "2"), at("1", "3"), "1 of 2 objects were written, not 0"},
		"pruned":                 {workPrune, at("1", "2", "3"), at("1", "2"), ""},
		"nothing pruned":         {workPrune, at("1", "2", "3"), at("1", "2", "3"), "0 of 3 objects are gone, not 1"},
		"pruned and written":     {workPrune, at("1", "2", "3"), at("1", "4"), "was written"},
		"nothing written of two": {workChange, at("1", "2", "3"), at("1", "2", "3"), "0 of 3 objects were written, not 2"},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			p := &lab.Plot{Sample: lab.Sample{Changed: 2, Leaving: 1}}
			expect(t, checkWritten(p, test.work, test.before, test.after), test.wrong)
		})
	}
}

func TestContent(t *testing.T) {
	s, err := lab.Generated(t.TempDir(), "Deployment", 2)
	if err != nil {
		t.Fatal(err)
	}
	// live is the server's state for a version of the manifests, after edit.
	live := func(version int, edit func(u *unstructured.Unstructured) error) lab.Objects {
		wanted, err := s.Objects(version)
		if err != nil {
			t.Fatal(err)
		}
		out := lab.Objects{}
		for _, u := range wanted {
			key := lab.NameOf(u)
			u = u.DeepCopy()
			u.SetNamespace("somewhere")
			u.SetResourceVersion("7")
			if err := edit(u); err != nil {
				t.Fatal(err)
			}
			out[key] = u
		}
		return out
	}
	none := func(*unstructured.Unstructured) error { return nil }
	missing := live(0, none)
	delete(missing, lab.NameOf(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "bench-00001"},
	}}))
	tests := map[string]struct {
		live  lab.Objects
		wrong string // part of the error
	}{
		"as the manifests say": {live(0, none), ""},
		"with defaults": {live(0, func(u *unstructured.Unstructured) error {
			return unstructured.SetNestedField(u.Object, "Always", "spec", "template", "spec", "restartPolicy")
		}), ""},
		"one is missing":  {missing, "bench-00001 is not there"},
		"another version": {live(1, none), "image is registry.example/app:1.1, not registry.example/app:1.0"},
		"another value": {live(0, func(u *unstructured.Unstructured) error {
			return unstructured.SetNestedField(u.Object, int64(3), "spec", "replicas")
		}), "spec.replicas is 3, not 2"},
		"a container more": {live(0, func(u *unstructured.Unstructured) error {
			return unstructured.SetNestedSlice(u.Object, []any{map[string]any{}, map[string]any{}}, "spec", "template", "spec", "containers")
		}), "containers has 2 items, not 1"},
		"nothing in it": {live(0, func(u *unstructured.Unstructured) error {
			u.Object["spec"] = nil
			return nil
		}), "spec"},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			expect(t, references{}.content(&lab.Plot{Sample: s}, test.live), test.wrong)
		})
	}
}

// expect wants no error, or one with a text in it.
func expect(t *testing.T, err error, text string) {
	t.Helper()
	switch {
	case err == nil && text != "":
		t.Errorf("no error, want one with %q", text)
	case err != nil && (text == "" || !strings.Contains(err.Error(), text)):
		t.Errorf("got %q, want %q", err, text)
	}
}

func TestForeignSamplesAreComparedBetweenTools(t *testing.T) {
	service := func(ip, uid, port string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"name": "web", "uid": uid, "resourceVersion": uid},
			"spec":     map[string]any{"clusterIP": ip, "ports": []any{map[string]any{"name": port, "nodePort": uid}}},
		}}
	}
	key := lab.Name{Kind: "Service", Name: "web"}
	s := lab.Sample{
		Title: "foreign", Foreign: true,
		Objects: func(int) ([]*unstructured.Unstructured, error) {
			return []*unstructured.Unstructured{service("", "", "http")}, nil
		},
	}
	r := references{}
	for _, step := range []struct {
		what string
		live *unstructured.Unstructured
		ok   bool
	}{
		{"the first sets the measure", service("10.0.0.1", "1", "http"), true},
		{"what differs each time does not count", service("10.0.0.2", "2", "http"), true},
		{"content counts", service("10.0.0.1", "1", "https"), false},
	} {
		err := r.content(&lab.Plot{Sample: s}, lab.Objects{key: step.live})
		if (err == nil) != step.ok {
			t.Errorf("%s: %v", step.what, err)
		}
	}
}

func TestAnObjectThatSaysNothingMayBeWrittenAgain(t *testing.T) {
	for text, wrong := range map[string]bool{
		"{apiVersion: v1, kind: Namespace, metadata: {name: a}}":                 false,
		"{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}}":      false,
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: YQ==}}":   true,
		"{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {b: c}}}": true,
	} {
		objects, err := lab.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		p := &lab.Plot{Sample: lab.Sample{Foreign: true, Objects: func(int) ([]*unstructured.Unstructured, error) { return objects, nil }}}
		n := lab.NameOf(objects[0])
		if err := checkWritten(p, workAgain, lab.Versions{n: "1"}, lab.Versions{n: "2"}); (err != nil) != wrong {
			t.Errorf("%s: %v", text, err)
		}
		if err := checkWritten(p, workAgain, lab.Versions{}, lab.Versions{n: "1"}); err == nil {
			t.Errorf("%s: a new object is no fault", text)
		}
	}
}
