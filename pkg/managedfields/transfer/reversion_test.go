package transfer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
)

// Any entries may move to another version. No manager gains or loses fields, no two entries have
// one owner, and other entries are unchanged.
func TestReversionKeepsFieldsOfManagers(t *testing.T) {
	pick := func(random *rand.Rand, of ...string) string { return of[random.IntN(len(of))] }
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 3))
		var entries []managedfields.Entry
		var moving []managedfields.Owner
		for range 1 + random.IntN(6) {
			e := managedfields.Entry{
				Owner: managedfields.Owner{
					Manager: pick(random, "flux", "helm"), Operation: pick(random, "Apply", "Update"), Subresource: pick(random, "", "status"),
					APIVersion: pick(random, "x/v1", "x/v1beta1", "x/v1alpha1"), Time: time.Unix(int64(random.IntN(1000)), 0).UTC(),
				},
				Fields: fieldpath.NewSet(),
			}
			for range random.IntN(4) {
				fieldpath.Insert(e.Fields, fieldpath.Field("spec", pick(random, "a", "b", "c", "d")))
			}
			if slices.ContainsFunc(entries, func(have managedfields.Entry) bool { return have.SameEntry(e.Owner) }) {
				continue // The server does not have two of them either.
			}
			entries = append(entries, e)
			if e.APIVersion != "x/v1" && random.IntN(4) > 0 {
				moving = append(moving, e.Owner)
			}
		}
		got := transfer.Reversion(entries, moving, "x/v1")
		if before, after := holdings(entries), holdings(got); before != after {
			t.Fatalf("seed %d: fields of managers were\n%s\nand are now\n%s", seed, before, after)
		}
		for i, e := range got {
			for _, other := range got[:i] {
				if other.SameEntry(e.Owner) {
					t.Fatalf("seed %d: two entries for %v", seed, e.Owner)
				}
			}
		}
		for _, e := range entries {
			moves := slices.ContainsFunc(moving, func(o managedfields.Owner) bool { return o.Equal(e.Owner) })
			now := managedfields.HeldBy(got, e.Owner)
			switch {
			case moves && !now.Empty():
				t.Fatalf("seed %d: %v should have moved, but still owns fields", seed, e.Owner)
			case !moves && !e.Fields.Difference(now).Empty():
				t.Fatalf("seed %d: %v lost fields", seed, e.Owner)
			case !moves && !now.Equals(e.Fields) && e.APIVersion != "x/v1":
				t.Fatalf("seed %d: %v gained fields", seed, e.Owner)
			}
		}
	}
}

// holdings returns the fields that each manager owns by each operation, at any version.
func holdings(entries []managedfields.Entry) string {
	held := map[string]map[string]bool{}
	for _, e := range entries {
		key := fmt.Sprint(e.Manager, e.Operation, e.Subresource)
		if held[key] == nil {
			held[key] = map[string]bool{}
		}
		fieldpath.Each(e.Fields, func(p fieldpath.Path) { held[key][p.String()] = true })
	}
	var lines []string
	for key, paths := range held {
		line := key
		for _, p := range []string{".spec.a", ".spec.b", ".spec.c", ".spec.d"} {
			if paths[p] {
				line += p
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
