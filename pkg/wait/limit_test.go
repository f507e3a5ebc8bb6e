package wait

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait/timelimit"
)

// times are limits in seconds; 0 means none. The keys of conditions are conditions as typed.
type times struct {
	object, existence float64
	conditions        map[string]float64
}

func (l times) limits() timelimit.Limits {
	var all timelimit.Limits
	if l.object > 0 {
		all = append(all, timelimit.Limit{Most: seconds(l.object)})
	}
	if l.existence > 0 {
		all = append(all, timelimit.Limit{Most: seconds(l.existence), Condition: &condition.Spec{Kind: condition.Create}})
	}
	for text, n := range l.conditions {
		spec, err := condition.Parse(text)
		if err != nil {
			panic(err)
		}
		all = append(all, timelimit.Limit{Most: seconds(n), Condition: &spec})
	}
	return all
}

// A kind or a condition may have a limit that is shorter or longer than the timeout. An object that
// runs out of time ends, and the wait for the others continues (edge case 53).
func TestLimits(t *testing.T) {
	at := func(n float64, then func()) { time.Sleep(seconds(n)); then() }
	both := func(t *testing.T) []Target {
		return append(named(goal(t, complete), "a"), named(goal(t, broken), "b")...)
	}
	for name, tc := range map[string]struct {
		engine  Engine
		there   []*unstructured.Unstructured
		targets func(*testing.T) []Target
		happens func(*world)
		want    map[string]string
		after   time.Duration
		unmet   Outcome
	}{
		"a condition's limit starts when the object appears": {
			engine:  Engine{Timeout: seconds(300), Limits: times{conditions: map[string]float64{complete: 30}}.limits()},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a", "b") },
			happens: func(w *world) {
				at(20, func() { w.put(job("b", "2")) })
				at(25, func() { w.put(job("b", "2", "Complete")) })
			},
			want: map[string]string{"a": "timeout: not met within 30s: " + complete, "b": "met"}, after: seconds(45), unmet: Outcome{Late: 1},
		},
		"separate limits for existence and completion": {
			engine:  Engine{Timeout: seconds(30), Limits: times{existence: 10, conditions: map[string]float64{complete: 60}}.limits()},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) {
				at(8, func() { w.put(job("a", "1")) })
				at(55, func() { w.put(job("a", "1", "Complete")) })
			},
			want: map[string]string{"a": "met"}, after: seconds(63),
		},
		"with a limit for existence, the timeout starts when the object appears": {
			engine:  Engine{Timeout: seconds(30), Limits: times{existence: 60}.limits()},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) { at(50, func() { w.put(job("a", "1")) }) },
			want:    map[string]string{"a": "timeout: not met within 30s after it appeared"}, after: seconds(80), unmet: Outcome{Late: 1},
		},
		"an object that does not exist in time does not end the others": {
			engine:  Engine{Timeout: seconds(60), Limits: times{existence: 10}.limits()},
			there:   []*unstructured.Unstructured{job("b", "2")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a", "b") },
			happens: func(w *world) { at(40, func() { w.put(job("b", "2", "Complete")) }) },
			want:    map[string]string{"a": "timeout: does not exist; did not exist within 10s", "b": "met"}, after: seconds(40), unmet: Outcome{Late: 1},
		},
		"a kind has more time than the wait": {
			engine:  Engine{Timeout: seconds(30), Limits: times{object: 120}.limits()},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) { at(90, func() { w.put(job("a", "1", "Complete")) }) },
			want:    map[string]string{"a": "met"}, after: seconds(90),
		},
		"a kind has less time than the wait": {
			engine:  Engine{Timeout: seconds(300), Limits: times{object: 20}.limits()},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			want:    map[string]string{"a": "timeout: not met within 20s"}, after: seconds(20), unmet: Outcome{Late: 1},
		},
		"an object without its own limit ends with the timeout": {
			engine:  Engine{Timeout: seconds(30), Limits: times{conditions: map[string]float64{complete: 60}}.limits()},
			there:   []*unstructured.Unstructured{job("a", "1"), job("b", "2")},
			targets: both,
			happens: func(w *world) { at(50, func() { w.put(job("a", "1", "Complete")) }) },
			want:    map[string]string{"a": "met", "b": "timeout"}, after: seconds(50), unmet: Outcome{Late: 1},
		},
		"nothing has more time than Most": {
			engine:  Engine{Timeout: seconds(30), Most: seconds(40), Limits: times{conditions: map[string]float64{complete: 60}}.limits()},
			there:   []*unstructured.Unstructured{job("a", "1"), job("b", "2")},
			targets: both,
			want:    map[string]string{"a": "timeout", "b": "timeout"}, after: seconds(40), unmet: Outcome{Late: 2},
		},
		"with Any, the later limit counts": {
			engine:  Engine{Timeout: seconds(30), Limits: times{conditions: map[string]float64{complete: 10, broken: 50}}.limits()},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, "any", complete, broken), "a") },
			happens: func(w *world) { at(45, func() { w.put(job("a", "1", "Complete")) }) },
			want:    map[string]string{"a": "met"}, after: seconds(45),
		},
		"the first condition that is not met in time": {
			engine:  Engine{Timeout: seconds(90), Limits: times{conditions: map[string]float64{complete: 10, broken: 50}}.limits()},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete, broken), "a") },
			happens: func(w *world) { at(5, func() { w.put(job("a", "1", "Complete")) }) },
			want:    map[string]string{"a": "timeout: not met within 50s: " + broken}, after: seconds(50), unmet: Outcome{Late: 1},
		},
		"only a condition has a limit": {
			engine:  Engine{Timeout: -1, Limits: times{conditions: map[string]float64{complete: 20}}.limits()},
			there:   []*unstructured.Unstructured{job("a", "1"), job("b", "2")},
			targets: both,
			happens: func(w *world) { at(1000, func() { w.put(job("b", "2", "Broken")) }) },
			want:    map[string]string{"a": "timeout: not met within 20s: " + complete, "b": "met"}, after: seconds(1000), unmet: Outcome{Late: 1},
		},
		"the limit does not start again for a replacement": {
			engine:  Engine{Timeout: seconds(90), Limits: times{conditions: map[string]float64{complete: 30}}.limits()},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) { at(20, func() { w.remove("a"); w.put(job("a", "2")) }) },
			want:    map[string]string{"a": "timeout: replaced during the wait; not met within 30s: " + complete}, after: seconds(30), unmet: Outcome{Late: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tc.there...)
			var happens func()
			if tc.happens != nil {
				happens = func() { tc.happens(w) }
			}
			got := w.wait(t, tc.engine, tc.targets(t), happens)
			if diff := cmp.Diff(tc.want, got.Results); diff != "" {
				t.Error(diff)
			}
			var unmet *UnmetError
			if errors.As(got.Err, &unmet) != (tc.unmet != Outcome{}) || unmet != nil && unmet.Outcome != tc.unmet {
				t.Errorf("error %v, want %+v", got.Err, tc.unmet)
			}
			if got.After < tc.after || got.After > tc.after+time.Second {
				t.Errorf("after %s, want %s", got.After, tc.after)
			}
		})
	}
}

// An object that runs out of time is reported soon, with its causes, even if the wait for others
// continues.
func TestExpiredLimitReportsCauses(t *testing.T) {
	for name, stuckAfter := range map[string]time.Duration{"known already": seconds(15), "asked then": seconds(60)} {
		t.Run(name, func(t *testing.T) {
			w, a := newWorld(job("a", "1"), job("b", "2")), &asker{takes: time.Second}
			e := Engine{Timeout: seconds(300), StuckAfter: stuckAfter, Limits: times{conditions: map[string]float64{complete: 30}}.limits()}
			e.Explain = a.explain
			targets := append(named(goal(t, complete), "a"), named(goal(t, broken), "b")...)
			got := w.wait(t, e, targets, func() {
				time.Sleep(seconds(33))
				w.put(job("b", "2", "Broken"))
			})
			var results []event.Waited
			for _, e := range got.Events {
				if e, ok := e.(event.Waited); ok {
					results = append(results, e)
				}
			}
			if len(results) != 2 || results[0].Ref.Name != "a" || len(results[0].Causes) != 1 || got.Reported["a"] > seconds(31) {
				t.Errorf("%+v, reported at %s", results, got.Reported)
			}
		})
	}
}
