package ownership_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// The API server accepts lists of this length, and admission must answer within two seconds. The
// time must not grow with the square of the length, because that would take minutes.
func TestLongList(t *testing.T) {
	const items = 30_000
	version := func(manager string, value int64) (ownership.Owners, *unstructured.Unstructured) {
		var fields []string
		var list []any
		for i := range items {
			fields = append(fields, fmt.Sprintf(`"k:{\"name\":\"%d\"}":{"f:v":{}}`, i))
			list = append(list, map[string]any{"name": fmt.Sprint(i), "v": value})
		}
		set := &metav1.FieldsV1{}
		set.SetRawString(`{"f:l":{` + strings.Join(fields, ",") + `}}`)
		return ownership.Compact([]metav1.ManagedFieldsEntry{{Manager: manager, Operation: "Apply", APIVersion: "v1", FieldsV1: set}}),
			&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "l": list}}
	}
	before, old := version("argo", 1)
	after, now := version("flux", 2)
	got, err := ownership.BetweenObjects(before, after, func() (*unstructured.Unstructured, *unstructured.Unstructured, error) {
		return old, now, nil
	})
	if err != nil || len(got) != items || got[0].Kind != ownership.Taken {
		t.Fatalf("%d transitions, %v", len(got), err)
	}
}
