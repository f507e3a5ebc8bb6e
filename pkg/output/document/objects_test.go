package document

import (
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
