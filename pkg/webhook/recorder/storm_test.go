package recorder_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/recorder"
)

// storm is the result of many takeovers at once, recorded by two replicas, one of which leads.
type storm struct {
	store *memory
	mu    sync.Mutex
	// endings maps each object to the leader's outcome.
	endings map[string]ownership.Outcome
	twice   int
}

// blow takes over the given number of objects within a minute of virtual time, and lets two
// replicas record the takeovers for two hours at the chart's rate. hinted returns the number of the
// replica that has the hint; replica 0 leads.
func blow(t *testing.T, objects int, capacity recorder.Limits, hinted func(n int) int) *storm {
	t.Helper()
	s := &storm{store: newMemory(), endings: map[string]ownership.Outcome{}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var replicas [2]*recorder.Recorder
	for i := range replicas {
		h := &handle{memory: s.store, before: func(string) error { time.Sleep(5 * time.Millisecond); return nil }}
		replicas[i] = recorder.New(h, recorder.Options{Namespace: "k8sconnect", Limits: capacity})
		replicas[i].Lead(i == 0)
		all.Go(func() { _ = replicas[i].Run(ctx) })
	}
	for n := range objects {
		name := fmt.Sprint("o", n)
		for i, r := range replicas {
			o := ownership.Occurrence{
				Object:     ownership.Object{APIVersion: "v1", Kind: "Thing", Namespace: fmt.Sprint("n", n%7), Name: name, UID: types.UID(name)},
				Transition: taken("a", 0, 1),
				Occasion:   ownership.Occasion{ResourceVersion: fmt.Sprint(1000 + n), Time: time.Now()},
			}
			if hinted(n) == i {
				o.User = "alice"
			}
			r.Record(o, func(end ownership.Outcome) { s.ended(i, name, end) })
		}
		time.Sleep(time.Minute / time.Duration(objects))
	}
	time.Sleep(2 * time.Hour)
	synctest.Wait()
	cancel()
	all.Wait()
	return s
}

func (s *storm) ended(replica int, object string, end ownership.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if replica != 0 {
		return
	}
	if _, ok := s.endings[object]; ok {
		s.twice++
	}
	s.endings[object] = end
}

// Edge case 99: 10,000 takeovers in a minute (2,000 if -short), at the chart's defaults. All are
// recorded, with their users, and hardly any record is written twice. This does not depend on which
// replica the API server called.
func TestStorm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)).Perm(10_000)
	if testing.Short() {
		random = random[:2_000]
	}
	for name, hinted := range map[string]func(int) int{
		"the leader got the reviews":        func(int) int { return 0 },
		"the other replica got the reviews": func(int) int { return 1 },
		"each replica got some reviews":     func(n int) int { return random[n] % 2 },
		"no replica knows the user":         func(int) int { return -1 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := len(random)
				s := blow(t, objects, recorder.Limits{}, hinted)
				users := 0
				records := s.store.all()
				for _, r := range records {
					if r.Entries[0].User != "" {
						users++
					}
				}
				if len(records) != objects || len(s.endings) != objects || s.twice > 0 {
					t.Errorf("%d records; %d notes ended, %d of them twice", len(records), len(s.endings), s.twice)
				}
				if users != objects && name != "no replica knows the user" {
					t.Errorf("%d users", users)
				}
				if n := s.store.writes.Load(); int(n) > objects*102/100 {
					t.Errorf("%d writes of %d records", n, objects)
				}
			})
		})
	}
}

// Edge case 99: transitions beyond the capacity are not recorded, and each loss is reported.
func TestMoreTransitionsThanFit(t *testing.T) {
	objects, capacity := 25_000, recorder.Limits{}
	if testing.Short() {
		objects, capacity = 3000, recorder.Limits{Objects: 500}
	}
	synctest.Test(t, func(t *testing.T) {
		s := blow(t, objects, capacity, func(int) int { return 0 })
		recorded := map[string]bool{}
		for _, r := range s.store.all() {
			recorded[r.Object.Name] = true
		}
		lost := 0
		for name, end := range s.endings {
			if end == ownership.OutcomeLost {
				lost++
			}
			if (end == ownership.OutcomeRecorded) != recorded[name] {
				t.Errorf("%s has the outcome %d, but recorded: %t", name, end, recorded[name])
			}
		}
		if len(s.endings) != objects || s.twice > 0 || lost == 0 || len(recorded)+lost != objects {
			t.Errorf("%d ended, %d twice, %d lost, %d recorded", len(s.endings), s.twice, lost, len(recorded))
		}
	})
}
