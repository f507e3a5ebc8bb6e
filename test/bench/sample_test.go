package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The three forms of a generated sample differ as intended, and each file contains its objects.
func TestGenerated(t *testing.T) {
	for _, kind := range generatedKinds() {
		t.Run(kind, func(t *testing.T) {
			s, err := generated(t.TempDir(), kind, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.objects) != 1000 || s.kept != 900 || len(s.changes) != 10 || s.plan.Len() != 1000 {
				t.Fatalf("%d objects, %d of them kept, %d changed, and %d in the plan", len(s.objects), s.kept, len(s.changes), s.plan.Len())
			}
			for i, u := range s.changes {
				if cmp.Equal(u, s.objects[i]) {
					t.Errorf("change %d does not differ from its object", i)
				}
			}
			held(t, s.whole, s.objects...)
			held(t, s.changed, append(s.changes, s.objects[10:]...)...)
			held(t, s.fewer, s.objects[:900]...)
		})
	}
}

func TestShop(t *testing.T) {
	s, err := shop(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	held(t, s.whole[1:], s.objects...)
	if s.title != "sample shop (48 objects)" || !s.foreign() {
		t.Errorf("%+v", s)
	}
}

// held requires a file to contain these objects.
func held(t *testing.T, flags []string, want ...*unstructured.Unstructured) {
	t.Helper()
	content, err := os.ReadFile(flags[1])
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
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
