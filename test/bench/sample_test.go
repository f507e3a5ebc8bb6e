package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The three forms of a generated sample differ as intended, and each file contains its objects.
func TestGenerated(t *testing.T) {
	for _, kind := range generatedKinds() {
		t.Run(kind, func(t *testing.T) {
			s, err := generated(t.TempDir(), kind, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.whole.objects) != 1000 || len(s.changed.objects) != 1000 || len(s.fewer.objects) != 900 {
				t.Fatalf("%d, %d and %d objects", len(s.whole.objects), len(s.changed.objects), len(s.fewer.objects))
			}
			differ := 0
			for i, u := range s.whole.objects {
				if !cmp.Equal(u, s.changed.objects[i]) {
					differ++
				}
			}
			if differ != 10 {
				t.Errorf("%d differ, want 10", differ)
			}
			for _, m := range []manifests{s.whole, s.changed, s.fewer} {
				held(t, m)
			}
		})
	}
}

func TestShop(t *testing.T) {
	s, err := shop(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	held(t, s.whole)
	if s.title != "sample shop (48 objects)" || !s.foreign() {
		t.Errorf("%+v", s)
	}
}

// held requires the file of the manifests to contain their objects.
func held(t *testing.T, m manifests) {
	t.Helper()
	content, err := os.ReadFile(m.args[1])
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.objects, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecode(t *testing.T) {
	stream := "# a comment\n---\n\n--- # another\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  text: |\n    x\n" +
		"---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n- {apiVersion: v1, kind: Secret, metadata: {name: c}}\n"
	objects, err := decode([]byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range objects {
		names = append(names, u.GetKind()+"/"+u.GetName())
	}
	if got, want := strings.Join(names, " "), "ConfigMap/a Secret/b Secret/c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// The newline that ends a block scalar is part of its value.
	if diff := cmp.Diff(map[string]any{"text": "x\n"}, objects[0].Object["data"]); diff != "" {
		t.Error(diff)
	}
}
