package ownership_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// chain is the true history of one path: for each version from which on the owner changed, the
// owner and the user who sent the request.
type chain []string

// step returns the transition from one version to a later one, as it looks without the versions in
// between.
func (c chain) step(from, to int) (ownership.Transition, ownership.Occasion) {
	tr, at := taken("a", c[from], c[to]), minute(to)
	if to > from+1 {
		tr.Kind, tr.Forced, at.Gap = ownership.Lost, false, true
	}
	return tr, at
}

// witness is a replica that sees some of the versions, and reports them in order. If it also
// admitted the request, it knows the verdict and the user.
func (c chain) witness(random *rand.Rand, add func(ownership.Transition, ownership.Occasion)) {
	seen := 0
	for v := 1; v < len(c); v++ {
		if random.IntN(3) == 0 || c[seen] == c[v] {
			continue
		}
		tr, at := c.step(seen, v)
		switch {
		case at.Gap:
		case random.IntN(2) == 0:
			tr.Kind, tr.Forced = ownership.Lost, false
		default:
			at.User = c.user(v)
		}
		add(tr, at)
		seen = v
	}
}

func (c chain) user(version int) string { return fmt.Sprint("user-", version) }

// Two replicas with different unwatched times saw different changes that end at the same version.
// In any order of reports, a step that was seen is recorded as a step. A net change gets neither a
// verdict nor a user.
func TestRecordOfUnwatchedTime(t *testing.T) {
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 3))
		c := chain{"argo"}
		for len(c) < 8 {
			next := []string{"argo", "flux", "helm"}[random.IntN(3)]
			if next != c[len(c)-1] {
				c = append(c, next)
			}
		}
		type report struct {
			ownership.Transition
			ownership.Occasion
		}
		var reports [2][]report
		for i := range reports {
			c.witness(random, func(tr ownership.Transition, at ownership.Occasion) { reports[i] = append(reports[i], report{tr, at}) })
		}
		var r ownership.Record
		var all []report
		for len(reports[0])+len(reports[1]) > 0 {
			i := random.IntN(2)
			if len(reports[i]) == 0 {
				i = 1 - i
			}
			all = append(all, reports[i][0])
			r.Add(reports[i][0].Transition, reports[i][0].Occasion)
			reports[i] = reports[i][1:]
		}
		for _, again := range all {
			if r.Add(again.Transition, again.Occasion) && again.User == "" && again.Kind == ownership.Lost {
				t.Fatalf("seed %d: %v: %s at %s is recorded twice: %v", seed, c, again.Transition, again.ResourceVersion, lines(r))
			}
		}
		for v := 1; v < len(c); v++ {
			exact := func(x report) bool { return x.ResourceVersion == minute(v).ResourceVersion && !x.Gap }
			counted := func(e ownership.Entry) bool {
				return slices.Contains(e.ResourceVersions, minute(v).ResourceVersion) &&
					min(e.From[0].Manager, e.To[0].Manager) == min(c[v-1], c[v]) && max(e.From[0].Manager, e.To[0].Manager) == max(c[v-1], c[v])
			}
			if slices.ContainsFunc(all, exact) && !slices.ContainsFunc(r.Entries, counted) {
				t.Fatalf("seed %d: %v: %s to %s at %s was seen, and is not recorded: %v", seed, c, c[v-1], c[v], minute(v).ResourceVersion, lines(r))
			}
		}
		for _, e := range r.Entries {
			last := 1
			for minute(last).ResourceVersion != e.ResourceVersions[len(e.ResourceVersions)-1] {
				last++
			}
			isExact := e.From[0].Manager == c[last-1] && e.To[0].Manager == c[last]
			if e.Kind == ownership.Taken && !isExact || e.User != "" && (!isExact || e.User != c.user(last)) {
				t.Fatalf("seed %d: %v: recorded at %s: %s, by %q, want only changes and users that were seen", seed, c, e.ResourceVersions, e, e.User)
			}
		}
	}
}
