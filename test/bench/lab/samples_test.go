package lab

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeneratedVersionsDifferInTenOfAThousand(t *testing.T) {
	for _, kind := range GeneratedKinds() {
		t.Run(kind, func(t *testing.T) {
			s, err := Generated(t.TempDir(), kind, 1000)
			if err != nil {
				t.Fatal(err)
			}
			before, err := s.Objects(1)
			if err != nil {
				t.Fatal(err)
			}
			after, err := s.Objects(2)
			if err != nil {
				t.Fatal(err)
			}
			if len(before) != 1000 || len(after) != 1000 {
				t.Fatalf("%d and %d objects, want 1000 each", len(before), len(after))
			}
			differ := 0
			for i := range before {
				if before[i].GetName() != after[i].GetName() {
					t.Fatalf("object %d is %s, and then %s", i, before[i].GetName(), after[i].GetName())
				}
				if !cmp.Equal(before[i], after[i]) {
					differ++
				}
			}
			if differ != 10 || s.Changed != 10 {
				t.Errorf("%d differ, %d are said to, want 10", differ, s.Changed)
			}
		})
	}
}

func TestSampleFileHoldsItsObjects(t *testing.T) {
	s, err := Shop(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	args, err := s.Args(0)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(args[1])
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(content)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Objects(0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(got) != 48 {
		t.Errorf("%d objects, want 48 as its title says", len(got))
	}
}

func TestDecode(t *testing.T) {
	stream := "# a comment\n---\n\n--- # another\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  text: |\n    x\n" +
		"---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n- {apiVersion: v1, kind: Secret, metadata: {name: c}}\n"
	objects, err := Decode([]byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	var names bytes.Buffer
	for _, u := range objects {
		names.WriteString(u.GetKind() + "/" + u.GetName() + " ")
	}
	if got, want := names.String(), "ConfigMap/a Secret/b Secret/c "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// The end of a block scalar is content.
	if diff := cmp.Diff(map[string]any{"text": "x\n"}, objects[0].Object["data"]); diff != "" {
		t.Error(diff)
	}
}
