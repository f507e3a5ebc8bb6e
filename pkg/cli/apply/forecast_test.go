package apply

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func numbered(i int) object.Ref {
	return object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "n", Name: fmt.Sprint(i)}
}

// play simulates a run of phases. Each phase begins with a pause and has unchanged objects and
// objects that take the given time, one after the other. play returns what was forecast and when,
// and how many objects were finished at the deadline.
func play(within time.Duration, pause time.Duration, phases ...[3]int) (short shortfall, at time.Duration, done int, reported int) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now, end := began, began.Add(within)
	f := newForecast(end)
	take := func(e event.Event) {
		if s, ok := f.observe(now, e); ok {
			short, at = s, now.Sub(began)
			reported++
		}
	}
	planned := event.Planned{}
	for _, p := range phases {
		planned.Phases = append(planned.Phases, event.Phase{Total: p[0] + p[1]})
	}
	take(planned)
	n := 0
	for i, p := range phases {
		now = now.Add(pause)
		take(event.PhaseStarted{Index: i})
		for range p[0] {
			n++
			take(event.Applied{Ref: numbered(n), Action: event.Unchanged})
			if now.Before(end) {
				done++
			}
		}
		for range p[1] {
			n++
			if !now.Before(end) {
				take(event.Applied{Ref: numbered(n), Action: event.Skipped})
				continue
			}
			take(event.Started{Ref: numbered(n)})
			now = now.Add(time.Duration(p[2]) * time.Millisecond)
			take(event.Applied{Ref: numbered(n), Action: event.Created})
			if !now.After(end) {
				done++
			}
		}
	}
	return short, at, done, reported
}

// A run that will not finish in time gets one forecast, early and roughly right. A run that will
// finish gets none.
func TestForecast(t *testing.T) {
	for name, test := range map[string]struct {
		within, pause time.Duration
		phases        [][3]int // settled, to write, milliseconds for each
		short         bool
	}{
		"time enough":                                     {time.Minute, 0, [][3]int{{0, 1000, 50}}, false},
		"just enough":                                     {time.Minute, 0, [][3]int{{0, 1150, 50}}, false},
		"half of the needed time":                         {time.Minute, 0, [][3]int{{0, 1000, 120}}, true},
		"a tenth of the needed time":                      {14 * time.Minute, 0, [][3]int{{0, 100_000, 84}}, true},
		"most objects are settled":                        {time.Minute, 0, [][3]int{{9000, 500, 100}}, false},
		"most objects are settled, but too many are left": {time.Minute, 0, [][3]int{{9000, 1000, 100}}, true},
		"several phases":                                  {time.Minute, 0, [][3]int{{10, 10, 10}, {100, 100, 100}, {500, 1500, 100}}, true},
		"several phases, settled":                         {time.Minute, 0, [][3]int{{900, 100, 100}, {900, 100, 100}, {900, 100, 100}}, false},
		"waits between phases":                            {time.Minute, 10 * time.Second, [][3]int{{0, 100, 50}, {0, 100, 50}, {0, 100, 50}}, false},
		"hardly any time":                                 {2 * time.Second, 0, [][3]int{{0, 1000, 10}}, true},
		"few objects":                                     {time.Second, 0, [][3]int{{0, 5, 1000}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			short, at, done, reported := play(test.within, test.pause, test.phases...)
			if test.short != (reported == 1) || reported > 1 {
				t.Fatalf("forecast %d times: %+v at %s, %d done", reported, short, at, done)
			}
			if !test.short {
				return
			}
			if at > test.within/4 {
				t.Errorf("forecast came after %s of %s, want it in the first quarter", at, test.within)
			}
			if off := short.Done - done; max(off, -off) > short.Total/6 {
				t.Errorf("%d of %d were forecast, and %d were done", short.Done, short.Total, done)
			}
			if short.Left != test.within-at {
				t.Errorf("the forecast says that %s are left, after %s of %s", short.Left, at, test.within)
			}
		})
	}
}

// A run that starts slowly and gets faster is not reported as too slow.
func TestNoForecastForSlowStart(t *testing.T) {
	if short, at, _, reported := play(time.Minute, 0, [3]int{0, 15, 300}, [3]int{0, 2000, 20}); reported > 0 {
		t.Errorf("unexpected forecast %+v after %s", short, at)
	}
}
