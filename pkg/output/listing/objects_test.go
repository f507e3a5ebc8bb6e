package listing

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// The texts of all objects are held at once: a template that makes a few megabytes of each
// is bounded, too, and one that prints as much as there is is not.
func TestTemplateOfManyObjects(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap"}}
	for text, wantErr := range map[string]bool{
		`{{printf "%1000000d%1000000d%1000000d%1000000d" 1 2 3 4}}`: true,
		`{{printf "%1000000d" 1}}{{.kind}}`:                         false,
	} {
		var b output.Base
		write, err := objectTemplate(b, text)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			if _, err = write(u); err != nil {
				break
			}
		}
		if (err != nil) != wantErr {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// So are paths, of one object and of all: a path may be named as often as one likes.
func TestPathOfLargeObjects(t *testing.T) {
	large := strings.Repeat("x", 22<<20)
	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"v": large, "small": large[:1<<20]}}}
	for text, wantErr := range map[string]string{
		`{.data.small}`:                 "",
		`{.data.v}{.data.v}`:            "more text than 64 MiB and another for each object",
		`{.data.v} {.data.v} {.data.v}`: "more than 64 MiB of text from one object",
		`{.data['v','v','v']}`:          "more than 64 MiB of text from one object",
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
