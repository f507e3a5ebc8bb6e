package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
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

// Packed manifests make the plan that they would make if they were not: the same phases,
// needs, warnings and faults, and the same content in the same namespace.
func TestPackedManifestsMakeTheSamePlan(t *testing.T) {
	const sets, objects = 200, 12
	builtin := builtIn(t)
	random := rand.New(rand.NewPCG(1, 2))
	described := func(ms []object.Manifest, o plan.Options) any {
		p, err := plan.Build(ms, o)
		if err != nil {
			return err.Error()
		}
		var all []any
		for _, ph := range p.Phases {
			for _, item := range ph.Items {
				whole, err := item.Whole()
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, ph.Name, item.Ref, item.Kind, item.Needs, item.Bringers, item.OnlyIn, whole.Object.Object)
			}
		}
		return append(all, p.Warnings, message(errors.Join(p.Invalid...)))
	}
	planned := 0
	for range sets {
		data := make([]byte, 3*objects)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		o := plan.Options{Namespace: []string{"", "prod"}[random.IntN(2)], SkipInvalid: random.IntN(4) > 0}
		if random.IntN(2) == 0 {
			o.Kinds = builtin
		}
		ms := randomSet(data)
		packed := make([]object.Manifest, len(ms))
		for i, m := range ms {
			var err error
			if packed[i], err = m.Pack(); err != nil || packed[i].Object != nil {
				t.Fatalf("%s is not packed: %v", m.Ref(), err)
			}
		}
		want, got := described(ms, o), described(packed, o)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("(-as it was +packed):\n%s", cmp.Diff(want, got))
		}
		if _, failed := want.(string); !failed {
			planned++
		}
	}
	if planned < sets/3 {
		t.Errorf("only %d of %d sets could be planned", planned, sets)
	}
}
