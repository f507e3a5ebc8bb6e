package prefetch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
)

// trip is how long the server takes for the objects of one kind.
const trip = 100 * time.Millisecond

var errAway = errors.New("the server is away")

// server has objects with versions. It reads an object at the time of the request, and answers one
// trip later.
type server struct {
	mu       sync.Mutex
	versions map[object.Ref]string
	away     bool
	calls    int // of Live
	asked    int // objects
}

func (s *server) objects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *server) Live(ctx context.Context, _ object.Kind, refs []object.Ref, visit func(int, *unstructured.Unstructured, error)) {
	s.mu.Lock()
	s.calls++
	s.asked += len(refs)
	answers := make([]*unstructured.Unstructured, len(refs))
	for i, ref := range refs {
		if version, ok := s.versions[ref]; ok {
			answers[i] = &unstructured.Unstructured{}
			answers[i].SetName(ref.Name)
			answers[i].SetResourceVersion(version)
		}
	}
	var err error
	if s.away {
		err = errAway
	}
	s.mu.Unlock()
	select {
	case <-time.After(trip):
	case <-ctx.Done():
		err = ctx.Err()
	}
	for i, answer := range answers {
		if err != nil {
			answer = nil
		}
		visit(i, answer, err)
	}
}

// planOf returns a plan with the given number of phases. Each phase has objects of some of the
// kinds.
func planOf(phases, kinds, objects int) *plan.Plan {
	p := &plan.Plan{}
	for n := range phases {
		ph := plan.Phase{Name: fmt.Sprint(n)}
		for i := range objects {
			gvk := schema.GroupVersionKind{Version: "v1", Kind: fmt.Sprint("Kind", (n+i)%kinds)}
			ph.Items = append(ph.Items, plan.Item{
				Ref:  object.Ref{GVK: gvk, Namespace: "n", Name: fmt.Sprintf("o%d-%d", n, i)},
				Kind: object.Kind{GVK: gvk, Resource: "kinds", Namespaced: true},
			})
		}
		p.Phases = append(p.Phases, ph)
	}
	return p
}

// versionsOf reads the objects of a phase and returns their versions.
func versionsOf(ctx context.Context, r *prefetch.Reader, ph plan.Phase) (map[object.Ref]string, error) {
	groups := map[schema.GroupVersionKind][]plan.Item{}
	for _, item := range ph.Items {
		groups[item.GVK] = append(groups[item.GVK], item)
	}
	var (
		mu   sync.Mutex
		all  sync.WaitGroup
		errs error
	)
	out := map[object.Ref]string{}
	for _, items := range groups {
		all.Go(func() {
			refs := make([]object.Ref, len(items))
			for i, item := range items {
				refs[i] = item.Ref
			}
			r.Live(ctx, items[0].Kind, refs, func(i int, live *unstructured.Unstructured, err error) {
				mu.Lock()
				defer mu.Unlock()
				errs = errors.Join(errs, err)
				out[refs[i]] = ""
				if live != nil {
					out[refs[i]] = live.GetName() + "@" + live.GetResourceVersion()
				}
			})
		})
	}
	all.Wait()
	return out, errs
}

// A plan without writes needs one read for each kind, in any number of phases. All reads are
// concurrent.
func TestOneRoundForAllPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := &server{}, planOf(7, 4, 10)
		started := time.Now()
		r := prefetch.Start(t.Context(), s, p)
		defer r.Close()
		for _, ph := range p.Phases {
			if got, err := versionsOf(t.Context(), r, ph); err != nil || len(got) != 10 {
				t.Fatalf("phase %s: %d objects, %v", ph.Name, len(got), err)
			}
		}
		if took := time.Since(started); took != trip || s.calls != 4 {
			t.Errorf("%d reads took %v", s.calls, took)
		}
	})
}

// Each read returns an object as it was at most ten seconds ago, and never as it was before the
// run's own last write. This is true for phases of any length, and for any writes between them.
func TestReadsAreFresh(t *testing.T) {
	const fresh = 10 * time.Second
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			s := &server{versions: map[object.Ref]string{}}
			p := planOf(1+random.IntN(6), 1+random.IntN(3), 1+random.IntN(8))
			var refs []object.Ref
			for _, ph := range p.Phases {
				refs = append(refs, ph.Refs()...)
			}
			type version struct {
				text  string
				since time.Time
			}
			was := map[object.Ref][]version{}
			change := func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				ref := refs[random.IntN(len(refs))]
				s.versions[ref] = fmt.Sprint(len(was[ref]))
				was[ref] = append(was[ref], version{ref.Name + "@" + s.versions[ref], time.Now()})
			}
			var wrote time.Time
			r := prefetch.Start(t.Context(), s, p)
			defer r.Close()
			for _, ph := range p.Phases {
				time.Sleep(time.Duration(random.IntN(4)) * 3 * time.Second)
				got, err := versionsOf(t.Context(), r, ph)
				if err != nil || len(got) != len(ph.Items) {
					t.Fatalf("seed %d: %d of %d objects, %v", seed, len(got), len(ph.Items), err)
				}
				oldest := time.Now().Add(-fresh - trip)
				if wrote.After(oldest) {
					oldest = wrote
				}
				for ref, text := range got {
					// An absence that was read before the write is valid.
					possible := map[string]bool{"": len(was[ref]) == 0 || was[ref][0].since.After(time.Now().Add(-fresh-trip))}
					for i, v := range was[ref] {
						possible[v.text] = i == len(was[ref])-1 || !was[ref][i+1].since.Before(oldest)
					}
					if !possible[text] {
						t.Fatalf("seed %d: %s is read as %q, which is outdated; versions %v; last write at %v, now %v", seed, ref, text, was[ref], wrote, time.Now())
					}
				}
				if random.IntN(2) == 0 {
					r.Stale()
					wrote = time.Now()
				}
				time.Sleep(time.Millisecond)
				for range random.IntN(4) {
					change()
				}
			}
		})
	}
}

// Absent objects are read once for each kind, so a new set needs one round of reads, even with
// writes. Existing objects are read again after a write.
func TestAbsencesAreKept(t *testing.T) {
	const phases, kinds, objects = 5, 3, 6
	for name, there := range map[string]bool{"nothing is there": false, "all but one are there": true} {
		synctest.Test(t, func(t *testing.T) {
			s, p := &server{versions: map[object.Ref]string{}}, planOf(phases, kinds, objects)
			want := kinds
			for _, ph := range p.Phases {
				for _, ref := range ph.Refs() {
					if there && ref != p.Phases[phases-1].Items[0].Ref {
						s.versions[ref] = "0"
					}
				}
			}
			if there {
				want += (phases - 1) * kinds
			}
			r := prefetch.Start(t.Context(), s, p)
			defer r.Close()
			for n, ph := range p.Phases {
				got, err := versionsOf(t.Context(), r, ph)
				if err != nil || len(got) != objects {
					t.Fatalf("%s, phase %s: %d objects, %v", name, ph.Name, len(got), err)
				}
				for ref, text := range got {
					if _, is := s.versions[ref]; is != (text != "") || is && text != ref.Name+"@"+fmt.Sprint(n) {
						t.Errorf("%s: %s is seen as %q after %d writes", name, ref, text, n)
					}
				}
				r.Stale()
				for ref := range s.versions {
					s.versions[ref] = fmt.Sprint(n + 1)
				}
			}
			if s.calls != want {
				t.Errorf("%s: %d reads, want %d", name, s.calls, want)
			}
		})
	}
}

// An error is reported once for each object. After the run has ended, no call waits.
func TestErrorsAndCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := &server{away: true}, planOf(3, 2, 4)
		ctx, cancel := context.WithCancel(t.Context())
		r := prefetch.Start(ctx, s, p)
		if _, err := versionsOf(ctx, r, p.Phases[0]); !errors.Is(err, errAway) {
			t.Errorf("got error %v, want the error of the unavailable server", err)
		}
		s.away = false
		if _, err := versionsOf(ctx, r, p.Phases[0]); err != nil {
			t.Errorf("got error %v, want none after the server is available again", err)
		}
		cancel()
		if _, err := versionsOf(ctx, r, plan.Phase{Items: p.Phases[0].Items}); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want context.Canceled", err)
		}
		r.Close()
	})
}

// A large plan is read ahead in parts, so that few objects wait in memory. A kind with more objects
// than that is read in its phase.
func TestLargePlan(t *testing.T) {
	const most = 1_500
	for name, tt := range map[string]struct {
		phases, objects int // of each of the two kinds of a phase
		trips           time.Duration
	}{
		"fits":              {5, 150, 1},
		"two phases fit":    {6, 375, 3},
		"one phase fits":    {4, 750, 4},
		"one kind fits":     {2, 1100, 3},
		"no kind fits":      {3, 1501, 3},
		"one object is too": {1, 751, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plan.Plan{}
				for n := range tt.phases {
					ph := plan.Phase{Name: fmt.Sprint(n)}
					for k := range 2 {
						ph.Items = append(ph.Items, planOf(1, 1, tt.objects).Phases[0].Items...)
						for i := range tt.objects {
							item := &ph.Items[k*tt.objects+i]
							item.GVK.Kind = fmt.Sprint("Kind", 2*n+k)
							item.Kind.GVK = item.GVK
						}
					}
					p.Phases = append(p.Phases, ph)
				}
				s, started := &server{}, time.Now()
				r := prefetch.Start(t.Context(), s, p)
				defer r.Close()
				returned := 0
				for _, ph := range p.Phases {
					synctest.Wait()
					if ahead := s.objects() - returned; ahead > most {
						t.Errorf("%d objects are read ahead", ahead)
					}
					got, err := versionsOf(t.Context(), r, ph)
					if err != nil || len(got) != len(ph.Items) {
						t.Fatalf("phase %s: %d of %d objects, %v", ph.Name, len(got), len(ph.Items), err)
					}
					returned += len(got)
				}
				if s.calls != 2*tt.phases || s.objects() != returned {
					t.Errorf("%d reads of %d objects for %d kinds and %d objects", s.calls, s.objects(), 2*tt.phases, returned)
				}
				if took := time.Since(started); took > tt.trips*trip {
					t.Errorf("took %v, want %d trips", took, tt.trips)
				}
			})
		})
	}
}

// After a write, nothing more is read ahead.
func TestLargePlanWithWrites(t *testing.T) {
	s := &server{}
	p := planOf(1, 1, 1000)
	for _, item := range planOf(1, 1, 1000).Phases[0].Items {
		item.GVK.Kind = "Other"
		item.Kind.GVK = item.GVK
		p.Phases = append(p.Phases, plan.Phase{Items: []plan.Item{item}})
	}
	r := prefetch.Start(t.Context(), s, p)
	r.Stale()
	if _, err := versionsOf(t.Context(), r, p.Phases[0]); err != nil {
		t.Error(err)
	}
	r.Close()
	if s.calls != 1 {
		t.Errorf("%d reads, want that of the prefetched kind only", s.calls)
	}
}
