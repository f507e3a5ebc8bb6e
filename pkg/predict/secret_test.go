package predict

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Edge case 12: the server stores stringData as data.
func TestWithoutStringData(t *testing.T) {
	secret := func(fields map[string]any) map[string]any {
		out := map[string]any{"apiVersion": "v1", "kind": "Secret"}
		maps.Copy(out, fields)
		return out
	}
	tests := map[string]struct{ in, want map[string]any }{
		"alone": {
			secret(map[string]any{"stringData": map[string]any{"a": "x"}}),
			secret(map[string]any{"data": map[string]any{"a": "eA=="}}),
		},
		"beside data, which it overrides": {
			secret(map[string]any{"stringData": map[string]any{"a": "x"}, "data": map[string]any{"a": "eQ==", "b": "eg=="}}),
			secret(map[string]any{"data": map[string]any{"a": "eA==", "b": "eg=="}}),
		},
		"a number, which the server refuses": {
			secret(map[string]any{"stringData": map[string]any{"a": int64(1)}}),
			secret(map[string]any{"stringData": map[string]any{"a": int64(1)}}),
		},
		"another kind": {
			map[string]any{"apiVersion": "example.com/v1", "kind": "Secret", "stringData": map[string]any{"a": "x"}},
			map[string]any{"apiVersion": "example.com/v1", "kind": "Secret", "stringData": map[string]any{"a": "x"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &unstructured.Unstructured{Object: tt.in}
			before := in.DeepCopy()
			if diff := cmp.Diff(tt.want, WithoutStringData(in).Object); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, in); diff != "" {
				t.Errorf("the manifest was changed: %s", diff)
			}
		})
	}
}
