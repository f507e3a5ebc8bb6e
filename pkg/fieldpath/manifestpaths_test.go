package fieldpath_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// randomValue returns random maps, lists and strings, nested up to a depth.
func randomValue(rnd *rand.Rand, depth int) any {
	names := []string{"a", "b", "name", "metadata"}
	switch n := rnd.IntN(4); {
	case depth == 0 || n == 0:
		return names[rnd.IntN(len(names))]
	case n == 1:
		list := make([]any, rnd.IntN(3))
		for i := range list {
			list[i] = randomValue(rnd, depth-1)
		}
		return list
	default:
		out := map[string]any{}
		for range rnd.IntN(4) {
			out[names[rnd.IntN(len(names))]] = randomValue(rnd, depth-1)
		}
		return out
	}
}

// ManifestPathsWithin returns those paths of the whole object that are in a part of it, and the
// parents of these paths.
func TestManifestPathsWithin(t *testing.T) {
	some := 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		object := map[string]any{"spec": randomValue(rnd, 4), "metadata": randomValue(rnd, 3), "x": randomValue(rnd, 2)}
		chosen := func(p fieldpath.Path) bool { return (len(p.String())*7+int(seed))%3 > 0 }
		var want []string
		for _, p := range fieldpath.ManifestPaths(object) {
			in := true
			for n := range p {
				in = in && chosen(p[:n+1])
			}
			if in {
				want = append(want, p.String())
			}
		}
		var got []string
		for _, p := range fieldpath.ManifestPathsWithin(object, chosen) {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d:\n%s\nwant\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		some += len(want)
	}
	if some == 0 {
		t.Error("no path was chosen")
	}
}
