package fieldpath_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// GetBy calls the custom find function for every list.
func TestGetByCallsFindForEveryList(t *testing.T) {
	object := map[string]any{"a": []any{[]any{"x", "y"}, "z"}}
	path, err := fieldpath.ParsePath(`.a[="nowhere"][="nowhere"]`)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	got, ok := path.GetBy(object, func([]any, fieldpath.Element) int {
		asked++
		return asked - 1
	})
	if got != "y" || !ok || asked != 2 {
		t.Errorf("got %v, %v after %d searches, want y, true after 2", got, ok, asked)
	}
}
