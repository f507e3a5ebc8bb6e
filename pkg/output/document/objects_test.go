package document

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// A template may name a path many times. The output for all objects is in memory at once, so it is
// limited for each object and for all objects together.
func TestPathOfLargeObjects(t *testing.T) {
	large := strings.Repeat("x", 22<<20)
	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"v": large, "small": large[:1<<20]}}}
	for text, wantErr := range map[string]string{
		`{.data.small}`:                 "",
		`{.data.v}{.data.v}`:            "more than 64 MiB of text",
		`{.data.v} {.data.v} {.data.v}`: "more than 64 MiB of text",
		`{.data['v','v','v']}`:          "more than 64 MiB of text",
	} {
		write, err := objectPath(output.Base{}, text)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err = write(u); err != nil {
				break
			}
		}
		if (err != nil) != (wantErr != "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("%.20s…: %v, want %q", text, err, wantErr)
		}
	}
}
