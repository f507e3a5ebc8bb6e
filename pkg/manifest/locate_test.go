package manifest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func TestLocate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "set.yaml")
	write(t, file, `apiVersion: v1
kind: ConfigMap
---
kind: List
items:
- kind: Pod
  spec:
    containers:
    - env:
      - {name: a, value: "1"}
      - name: b
        value: n
- kind: Pod
`)
	for name, tt := range map[string]struct {
		line    int
		steps   []any
		want    int
		written string
	}{
		"a field":         {1, []any{"kind"}, 2, "ConfigMap"},
		"of an item":      {6, []any{"spec", "containers", 0, "env", 1, "value"}, 12, "n"},
		"quoted":          {6, []any{"spec", "containers", 0, "env", 0, "value"}, 10, ""},
		"another item":    {13, []any{"kind"}, 13, "Pod"},
		"an absent field": {13, []any{"spec"}, 13, ""},
		"the document":    {1, nil, 1, ""},
	} {
		got, written := manifest.Locate(object.Source{File: file, Line: tt.line}, tt.steps)
		if got.Line != tt.want || written != tt.written {
			t.Errorf("%s: line %d and %q, want %d and %q", name, got.Line, written, tt.want, tt.written)
		}
	}
	for _, nowhere := range []object.Source{{File: "-", Line: 3}, {File: file}, {File: filepath.Join(t.TempDir(), "gone"), Line: 1}} {
		if got, written := manifest.Locate(nowhere, []any{"kind"}); got != nowhere || written != "" {
			t.Errorf("%v: got %v, %q", nowhere, got, written)
		}
	}
}

// If YAML 1.1 reads an unquoted word as another value, the error names both the word and the value.
func TestWordsThatYAMLReadsAsBooleans(t *testing.T) {
	for written, want := range map[string]string{
		"n": "quote it: unquoted, n is false in YAML 1.1", "On": "quote it: unquoted, On is true in YAML 1.1", "True": "quote it", "7": "quote it",
	} {
		file := filepath.Join(t.TempDir(), "a.yaml")
		write(t, file, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    country: "+written+"\n")
		_, err := manifest.Read(t.Context(), manifest.Options{Filenames: []string{file}})
		var hinted interface{ Hint() string }
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) != 1 {
			t.Fatalf("%s: got %v", written, err)
		}
		if hinted, ok = deepest(err).(interface{ Hint() string }); !ok || hinted.Hint() != want || !strings.Contains(err.Error(), "a.yaml:6") {
			t.Errorf("%s: got %v", written, err)
		}
	}
}

// deepest returns the innermost error of an input.
func deepest(err error) error {
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			return err
		}
		err = joined.Unwrap()[0]
	}
}
