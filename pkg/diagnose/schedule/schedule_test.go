package schedule

import (
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// spent is a number of requests, and the time when they were sent.
type spent struct {
	at       time.Time
	requests int
}

// The number of requests never exceeds the limits. A stuck object is examined in time if the limits
// allow it. An object that makes progress is not examined.
func TestBounds(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		limits := Usual(15 * time.Second)
		limits.Most, limits.Batch = 1+random.IntN(60), 1+random.IntN(30)
		s := New[int](limits)
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		objects := 1 + random.IntN(40)
		moved, bad, asked := map[int]time.Time{}, map[int]bool{}, map[int]time.Time{}
		each, all := map[int][]spent{}, []spent(nil)
		plenty := objects <= 5 && limits.Most >= objects && limits.Batch >= objects
		dearest := 0
		for range 600 {
			now = now.Add(time.Second)
			for k := range objects {
				if random.IntN(40) == 0 {
					moved[k], bad[k] = now, random.IntN(2) == 0
					s.Moved(k, now, bad[k])
					delete(asked, k)
				} else if random.IntN(2000) == 0 {
					s.Drop(k)
					delete(moved, k)
					delete(each, k) // If it comes back, it is a new object.
				}
			}
			batch := s.Due(now)
			requests, total := map[int]int{}, random.IntN(3)
			for _, k := range batch {
				quiet := now.Sub(moved[k])
				if moved[k].IsZero() || quiet < limits.AfterBad || !bad[k] && quiet < limits.After {
					t.Fatalf("seed %d: object %d is examined, although it moved %s ago", seed, k, quiet)
				}
				requests[k] = 1 + random.IntN(3)
				if random.IntN(5) == 0 {
					requests[k] = 15
				}
				asked[k] = now
				total += requests[k]
				each[k] = append(each[k], spent{now, requests[k]})
			}
			if len(batch) > 0 {
				dearest = max(dearest, total)
				all = append(all, spent{now, total})
				s.Asked(now, requests, total-sum(requests), 2)
			}
			for k, at := range moved {
				if plenty && asked[k].IsZero() && each[k] == nil && now.Sub(at) > limits.After {
					t.Fatalf("seed %d: object %d is not examined, although it has not moved for %s", seed, k, now.Sub(at))
				}
			}
		}
		for k, payments := range each {
			within(t, seed, k, payments, limits.Each, 15)
		}
		within(t, seed, -1, all, limits.All, dearest)
	}
}

func sum(requests map[int]int) int {
	n := 0
	for _, r := range requests {
		n += r
	}
	return n
}

// within checks that no period has more requests than its share. The requests of one minute may be
// sent at once, and the most expensive examination may exceed the share.
func within(t *testing.T, seed uint64, k int, payments []spent, aMinute, dearest int) {
	t.Helper()
	for i := range payments {
		total := 0
		for _, p := range payments[i:] {
			total += p.requests
			most := float64(aMinute)*(1+p.at.Sub(payments[i].at).Minutes()) + float64(dearest)
			if float64(total) > most {
				t.Fatalf("seed %d: %d requests for %d in %s, more than %.0f", seed, total, k, p.at.Sub(payments[i].at), most)
			}
		}
	}
}

// No more than Most objects are examined before one of them is dropped.
func TestMostLimitsExaminedObjects(t *testing.T) {
	limits := Usual(15 * time.Second)
	limits.Most, limits.Batch = 3, 10
	s := New[int](limits)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for k := range 5 {
		s.Moved(k, now, false)
	}
	now = now.Add(15 * time.Second)
	first := s.Due(now)
	if len(first) != 3 || s.Due(now) != nil {
		t.Fatalf("first batch is %v, want 3 objects and no second batch", first)
	}
	s.Asked(now, map[int]int{first[0]: 1, first[1]: 1, first[2]: 1}, 0, 1)
	if n := s.Passed(now); n != 2 {
		t.Errorf("%d objects are passed over", n)
	}
	s.Drop(first[1])
	if got := s.Due(now.Add(time.Second)); len(got) != 1 || got[0] != 3 {
		t.Errorf("next batch %v", got)
	}
}

func TestNews(t *testing.T) {
	var reported Reported
	one := []event.Cause{{Code: "A", Message: "1 of 2"}}
	for i, step := range []struct {
		causes []event.Cause
		news   bool
	}{
		{nil, false},
		{one, true},
		{one, false},
		{[]event.Cause{{Code: "A", Message: "2 of 2"}}, false},
		{nil, false},
		{one, false},
		{[]event.Cause{{Code: "B"}}, true},
		{one, true},
	} {
		if got := reported.News(step.causes, nil); got != step.news {
			t.Errorf("step %d: news %v", i, got)
		}
	}
}

// Marks distinguish progress from changes that are none.
func TestMarks(t *testing.T) {
	for name, tc := range map[string]struct {
		states string
		want   string // for each state: y or m if it moved, s if not
	}{
		"replicas get ready":                   {`{replicas: 3}, {replicas: 3, readyReplicas: 1}, {replicas: 3, readyReplicas: 2}`, "ymm"},
		"replicas flap":                        {`{readyReplicas: 1}, {readyReplicas: 2}, {readyReplicas: 1}, {readyReplicas: 2}`, "ymss"},
		"only the time in the message changes": {`{conditions: [{type: Ready, status: "False", message: "at 12:00"}]}, {conditions: [{type: Ready, status: "False", message: "at 12:01"}]}`, "ys"},
		"a new reason":                         {`{conditions: [{type: Ready, status: "False", reason: A}]}, {conditions: [{type: Ready, status: "False", reason: B}]}`, "ym"},
		"a Job that fails":                     {`{active: 1, failed: 0}, {active: 0, failed: 1}, {active: 1, failed: 1}, {active: 0, failed: 2}`, "ymss"},
		"a container that ends":                {`{containerStatuses: [{name: a, restartCount: 1, state: {running: {}}}]}, {containerStatuses: [{name: a, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}}]}, {containerStatuses: [{name: a, restartCount: 2, state: {running: {}}}]}`, "yms"},
	} {
		var states []map[string]any
		if err := yaml.Unmarshal([]byte("["+tc.states+"]"), &states); err != nil {
			t.Fatal(err)
		}
		var marks Marks
		for i, status := range states {
			moved := marks.Moved(&unstructured.Unstructured{Object: map[string]any{"status": status}})
			if moved != (tc.want[i] != 's') {
				t.Errorf("%s: state %d: moved %v", name, i, moved)
			}
		}
	}
}
