package exclusive_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
)

// A manifest declares a port without its protocol, and others add the same number with UDP. That is an item
// beside the declared one.
func TestPortBesideTheDeclaredOne(t *testing.T) {
	sample := documents(t, samples)[0]
	part := in([]any{object{"name": "app", "ports": []any{object{"containerPort": 80, "protocol": "UDP"}}}}, "spec", "template", "spec", "containers")
	judgeWriters(t, "beside", sample, part)
}

// A manifest sets only serviceAccount, the deprecated alias, and others write serviceAccountName. The
// server then sets both to the name, which wins over the alias of each later apply. So the name is an
// addition, and without it the object equals the manifest again.
func TestNameBesideTheAlias(t *testing.T) {
	sample := documents(t, samples)[2]
	if _, ok := sample["spec"].(object)["template"].(object)["spec"].(object)["serviceAccount"]; !ok {
		t.Fatalf("the sample has no alias: %v", sample)
	}
	judgeWriters(t, "alias", sample, in("x2", "spec", "template", "spec", "serviceAccountName"))
}

// judgeWriters judges the same addition by each manager, to an object of ours and one of kubectl create.
func judgeWriters(t *testing.T, batch string, sample, part map[string]any) {
	t.Helper()
	c := shared.Cluster(t)
	j := &judge{t: t, c: c, a: newAPI(t, c), batch: batch}
	var all []*history
	plays := map[*history]func(h *history, namespace string) error{}
	for _, creator := range []string{us, "kubectl-create"} {
		for _, m := range managers {
			if m.name == "kube-controller-manager" {
				continue // Its fields stay.
			}
			for _, repeated := range []bool{false, true} {
				h := &history{name: fmt.Sprint("h", len(all)), base: sample, want: sample, steps: []string{fmt.Sprint(creator, m.name, repeated)}}
				all = append(all, h)
				plays[h] = func(h *history, namespace string) error {
					o := named(sample, namespace, h.name)
					if _, err := j.a.do(t, http.MethodPatch, at(o, namespace, h.name), asApply, creator, o); err != nil {
						return err
					}
					err := m.way(h, t, j.a, rand.New(rand.NewPCG(1, 1)), m.name, namespace, part)
					if repeated && err == nil {
						_, err = j.a.do(t, http.MethodPatch, at(o, namespace, h.name), asApply, us, o)
					}
					return err
				}
			}
		}
	}
	j.judge(all, func(h *history, namespace string) bool {
		if err := plays[h](h, namespace); err != nil {
			t.Errorf("%s: %v", h.steps, err)
			return false
		}
		return true
	})
	if j.judged != len(all) || j.surplus == 0 { // The first apply adopts one of them: its name is removed, not surplus.
		t.Errorf("%d of %d judged, %d additions", j.judged, len(all), j.surplus)
	}
}
