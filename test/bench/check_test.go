package main

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestCheck(t *testing.T) {
	s, err := generated(t.TempDir(), "ConfigMap", 200)
	if err != nil {
		t.Fatal(err)
	}
	// live is what a server would have at a version of the manifests, with one
	// resource version for all.
	live := func(version int, resourceVersion string) objects {
		wanted, err := s.objects(version)
		if err != nil {
			t.Fatal(err)
		}
		out := objects{}
		for _, u := range wanted {
			u = u.DeepCopy()
			u.SetNamespace("somewhere")
			u.SetResourceVersion(resourceVersion)
			out[name{"ConfigMap", "", u.GetName()}] = u
		}
		return out
	}
	first := name{"ConfigMap", "", "bench-00000"}
	// written is live, of which n objects were written once more.
	written := func(version, n int) objects {
		out := maps.Clone(live(version, "7"))
		for key, u := range out {
			if key.name < "bench-00000"[:10]+string(rune('0'+n)) {
				u.SetResourceVersion("8")
			}
		}
		return out
	}
	tests := map[string]struct {
		work    string
		version int
		before  objects
		after   objects
		wrong   string // part of the error
	}{
		"created":            {workCreate, 0, nil, live(0, "7"), ""},
		"one not created":    {workCreate, 0, nil, without(live(0, "7"), first), "is not there"},
		"created otherwise":  {workCreate, 0, nil, live(1, "7"), ".data.version is 1, not 0"},
		"unchanged":          {workAgain, 0, live(0, "7"), live(0, "7"), ""},
		"unchanged, written": {workAgain, 0, live(0, "7"), written(0, 1), "1 objects were written, not 0"},
		"diff wrote":         {workDiff, 0, live(0, "7"), written(0, 3), "3 objects were written, not 0"},
		"dry run wrote":      {workDryRun, 0, live(0, "7"), written(0, 1), "1 objects were written, not 0"},
		"changed":            {workChange, 1, live(0, "7"), written(1, 2), ""},
		"changed too many":   {workChange, 1, live(0, "7"), written(1, 3), "3 objects were written, not 2"},
		"not changed":        {workChange, 1, live(0, "7"), live(0, "7"), ".data.version is 0, not 1"},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			p := &plot{sample: s, version: test.version}
			err := references{}.check(p, test.work, test.before, test.after)
			switch {
			case err == nil && test.wrong != "":
				t.Errorf("no error, want one with %q", test.wrong)
			case err != nil && (test.wrong == "" || !strings.Contains(err.Error(), test.wrong)):
				t.Errorf("got %q, want %q", err, test.wrong)
			}
		})
	}
}

func without(o objects, key name) objects {
	delete(o, key)
	return o
}

func TestForeignSamplesAreComparedBetweenTools(t *testing.T) {
	service := func(ip, uid, port string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"name": "web", "uid": uid, "resourceVersion": uid},
			"spec":     map[string]any{"clusterIP": ip, "ports": []any{map[string]any{"name": port, "nodePort": uid}}},
		}}
	}
	key := name{"Service", "", "web"}
	s := sample{
		title: "foreign", foreign: true,
		objects: func(int) ([]*unstructured.Unstructured, error) {
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
		err := r.check(&plot{sample: s}, workCreate, nil, objects{key: step.live})
		if (err == nil) != step.ok {
			t.Errorf("%s: %v", step.what, err)
		}
	}
}
