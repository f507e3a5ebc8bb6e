package plan_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// A packed manifest is, once it is whole, what it was: its numbers, its empty and its null
// values, its texts. Small plans are not packed.
func TestPackedManifestsAreWhole(t *testing.T) {
	values := []any{
		int64(1), int64(-1 << 62), 1.5, 1e300, true, false, nil, "", "a <b> & \u2028 \x01 \U0001F600 \"q\"\n",
		map[string]any{},
		[]any{},
		[]any{map[string]any{"name": "a", "1": []any{int64(0), nil}}},
	}
	for objects, packed := range map[int]bool{100: false, 6000: true} {
		p := &plan.Plan{Phases: []plan.Phase{{}, {}}}
		for i := range objects {
			u := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": fmt.Sprint(i)}, "spec": values[i%len(values)],
			}}
			items := &p.Phases[i%2].Items
			*items = append(*items, plan.Item{Ref: object.RefOf(u), Object: u})
		}
		var want [][]any
		for _, ph := range p.Phases {
			var manifests []any
			for _, item := range ph.Items {
				manifests = append(manifests, item.Object.DeepCopy().Object)
			}
			want = append(want, manifests)
		}
		if err := p.Pack(); err != nil {
			t.Fatal(err)
		}
		for n, ph := range p.Phases {
			for i := range ph.Items {
				if is := ph.Items[i].Object == nil; is != packed {
					t.Fatalf("of %d objects, one is packed: %t", objects, is)
				}
				whole, err := ph.Items[i].Whole()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want[n][i], any(whole.Object.Object)); diff != "" {
					t.Errorf("%s (-was +is):\n%s", whole.Ref, diff)
				}
			}
		}
	}
}
