package wait

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	complete = "condition=Complete"
	broken   = "condition=Broken"
)

func TestWait(t *testing.T) {
	type results map[string]string
	for name, tc := range map[string]struct {
		engine  Engine
		there   []*unstructured.Unstructured
		targets func(*testing.T) []Target
		happens func(*world)
		want    results
		// after is when the wait ends.
		after time.Duration
		// met is set if no error is expected. Otherwise, unmet is the outcome in the expected
		// *UnmetError.
		met   bool
		unmet Outcome
	}{
		"met already": {
			engine:  Engine{Timeout: time.Minute},
			there:   []*unstructured.Unstructured{job("a", "1", "Complete"), job("b", "2", "Complete")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a", "b") },
			want:    results{"a": "met", "b": "met"}, met: true,
		},
		"met later": {
			engine:  Engine{Timeout: time.Minute},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) { time.Sleep(seconds(3)); w.put(job("a", "1", "Complete")) },
			want:    results{"a": "met"}, met: true, after: seconds(3),
		},
		// edge case 45
		"an object that does not exist yet": {
			engine:  Engine{Timeout: time.Minute},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) { time.Sleep(seconds(5)); w.put(job("a", "1", "Complete")) },
			want:    results{"a": "met"}, met: true, after: seconds(5),
		},
		// edge case 45
		"an object that never exists": {
			engine:  Engine{Timeout: time.Minute},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			want:    results{"a": "timeout: does not exist"}, after: time.Minute, unmet: Outcome{Late: 1},
		},
		// edge case 45
		"an object that may be missing for a while": {
			engine:  Engine{Timeout: time.Minute, Existence: new(seconds(10))},
			there:   []*unstructured.Unstructured{job("b", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a", "b") },
			want:    results{"a": "timeout: does not exist", "b": "unmet"}, after: seconds(10), unmet: Outcome{Late: 2},
		},
		"an object that must exist now": {
			engine:  Engine{Timeout: time.Minute, Existence: new(time.Duration(0))},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			want:    results{"a": "timeout: does not exist"}, unmet: Outcome{Late: 1},
		},
		// edge case 46
		"all conditions, met at one version": {
			engine:  Engine{Timeout: seconds(30)},
			there:   []*unstructured.Unstructured{job("a", "1", "Complete")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete, broken), "a") },
			happens: func(w *world) {
				time.Sleep(seconds(1))
				w.put(job("a", "1", "Broken"))
				time.Sleep(seconds(1))
				w.put(job("a", "1", "Broken", "Complete"))
			},
			want: results{"a": "met"}, met: true, after: seconds(2),
		},
		// edge case 46
		"any condition": {
			engine:  Engine{Timeout: seconds(30)},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, "any", complete, broken), "a") },
			happens: func(w *world) { time.Sleep(seconds(1)); w.put(job("a", "1", "Broken")) },
			want:    results{"a": "met"}, met: true, after: seconds(1),
		},
		// edge case 46
		"a failed object ends the wait for all": {
			engine:  Engine{Timeout: time.Hour},
			there:   []*unstructured.Unstructured{job("a", "1"), job("b", "2")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete, "!"+broken), "a", "b") },
			happens: func(w *world) { time.Sleep(seconds(4)); w.put(job("b", "2", "Broken")) },
			want:    results{"a": "unmet", "b": "failed"}, after: seconds(4), unmet: Outcome{Failed: 1, Late: 1},
		},
		// edge case 49
		"deleted and replaced": {
			engine:  Engine{Timeout: time.Minute},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) {
				time.Sleep(seconds(1))
				w.remove("a")
				time.Sleep(seconds(1))
				w.put(job("a", "2", "Complete"))
			},
			want: results{"a": "met: replaced during the wait"}, met: true, after: seconds(2),
		},
		// edge case 49
		"deleted for good": {
			engine:  Engine{Timeout: time.Minute},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) { time.Sleep(seconds(1)); w.remove("a") },
			want:    results{"a": "timeout: deleted during the wait"}, after: time.Minute, unmet: Outcome{Late: 1},
		},
		// edge case 49
		"a deletion": {
			engine:  Engine{Timeout: time.Minute},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, "delete"), "a", "b") },
			happens: func(w *world) { time.Sleep(seconds(1)); w.remove("a"); w.put(job("a", "2")) },
			want:    results{"a": "met", "b": "met"}, met: true, after: seconds(1),
		},
		// edge case 53
		"no timeout": {
			engine:  Engine{},
			there:   []*unstructured.Unstructured{job("a", "1", "Complete"), job("b", "2")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a", "b", "c") },
			want:    results{"a": "met", "b": "timeout", "c": "timeout: does not exist"}, unmet: Outcome{Late: 2},
		},
		// edge case 53
		"the timeout is for all objects": {
			engine:  Engine{Timeout: seconds(10)},
			there:   []*unstructured.Unstructured{job("a", "1"), job("b", "2"), job("c", "3")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a", "b", "c") },
			want:    results{"a": "timeout", "b": "timeout", "c": "timeout"}, after: seconds(10), unmet: Outcome{Late: 3},
		},
		"without a limit": {
			engine:  Engine{Timeout: -1},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) { time.Sleep(100 * time.Hour); w.put(job("a", "1", "Complete")) },
			want:    results{"a": "met"}, met: true, after: 100 * time.Hour,
		},
		// edge case 54
		"met at the deadline, but not reported": {
			engine:  Engine{Timeout: seconds(10)},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) {
				time.Sleep(seconds(9))
				w.mu.Lock()
				defer w.mu.Unlock()
				w.objects["a"] = job("a", "1", "Complete") // The watch does not report it in time.
			},
			want: results{"a": "met"}, met: true, after: seconds(10),
		},
		// edge case 55
		"reads fail": {
			engine:  Engine{Timeout: seconds(10)},
			targets: func(t *testing.T) []Target { return named(goal(t, complete), "a") },
			happens: func(w *world) {},
			want:    results{"a": "unknown"}, after: seconds(15), unmet: Outcome{Unknown: 1},
		},
		"objects that match a selector now and later": {
			engine:  Engine{Timeout: time.Minute},
			there:   []*unstructured.Unstructured{job("a", "1", "Complete"), job("b", "2")},
			targets: func(t *testing.T) []Target { return matching(goal(t, complete)) },
			happens: func(w *world) {
				time.Sleep(seconds(1))
				w.put(job("c", "3"))
				w.put(job("b", "2", "Complete"))
				time.Sleep(seconds(1))
				w.put(job("c", "3", "Complete"))
			},
			want: results{"a": "met", "b": "met", "c": "met"}, met: true, after: seconds(2),
		},
		// edge case 49
		"an object found by a selector is deleted": {
			engine:  Engine{Timeout: time.Minute},
			there:   []*unstructured.Unstructured{job("a", "1"), job("b", "2")},
			targets: func(t *testing.T) []Target { return matching(goal(t, complete)) },
			happens: func(w *world) {
				time.Sleep(seconds(1))
				w.remove("a")
				time.Sleep(seconds(1))
				w.put(job("b", "2", "Complete"))
			},
			want: results{"a": "unselected: deleted or relabeled during the wait", "b": "met"}, met: true, after: seconds(2),
		},
		// If the selector has no labels, a missing object was deleted and not relabeled.
		"an object of the kind is deleted": {
			engine: Engine{Timeout: time.Minute},
			there:  []*unstructured.Unstructured{job("a", "1"), job("b", "2", "Complete")},
			targets: func(t *testing.T) []Target {
				targets := matching(goal(t, complete))
				targets[0].Labels = ""
				return targets
			},
			happens: func(w *world) { time.Sleep(seconds(1)); w.remove("a") },
			want:    results{"a": "deleted: deleted during the wait", "b": "met"}, met: true, after: seconds(1),
		},
		// edge case 49
		"deletion of all objects found by a selector is not a success": {
			engine:  Engine{Timeout: seconds(20)},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return matching(goal(t, complete)) },
			happens: func(w *world) { time.Sleep(seconds(1)); w.remove("a") },
			want:    results{"a": "unselected: deleted or relabeled during the wait"}, after: seconds(20), unmet: Outcome{Late: 1},
		},
		"deletion of the objects that match a selector at first": {
			engine:  Engine{Timeout: time.Minute},
			there:   []*unstructured.Unstructured{job("a", "1")},
			targets: func(t *testing.T) []Target { return matching(goal(t, "delete")) },
			happens: func(w *world) { time.Sleep(seconds(1)); w.put(job("b", "2")); w.remove("a") },
			want:    results{"a": "met"}, met: true, after: seconds(1),
		},
		"deletion, with a selector that matches nothing": {
			engine:  Engine{Timeout: time.Minute},
			targets: func(t *testing.T) []Target { return matching(goal(t, "delete")) },
			want:    results{}, met: true,
		},
		"creation, with a selector that matches nothing yet": {
			engine:  Engine{Timeout: time.Minute},
			targets: func(t *testing.T) []Target { return matching(goal(t, "create")) },
			happens: func(w *world) { time.Sleep(seconds(7)); w.put(job("a", "1")) },
			want:    results{"a": "met"}, met: true, after: seconds(7),
		},
		"a selector that matches nothing yet, with Existence": {
			engine:  Engine{Timeout: time.Minute, Existence: new(seconds(10))},
			targets: func(t *testing.T) []Target { return matching(goal(t, complete)) },
			happens: func(w *world) { time.Sleep(seconds(7)); w.put(job("a", "1", "Complete")) },
			want:    results{"a": "met"}, met: true, after: seconds(7),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tc.there...)
			w.blind = name == "reads fail"
			var happens func()
			if tc.happens != nil {
				happens = func() { tc.happens(w) }
			}
			got := w.wait(t, tc.engine, tc.targets(t), happens)
			if diff := cmp.Diff(map[string]string(tc.want), got.Results); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got.After != tc.after {
				t.Errorf("took %s, want %s", got.After, tc.after)
			}
			var unmet *UnmetError
			switch {
			case tc.met && got.Err != nil:
				t.Errorf("error %v", got.Err)
			case !tc.met && (!errors.As(got.Err, &unmet) || unmet.Outcome != tc.unmet):
				t.Errorf("error %v, want %+v", got.Err, tc.unmet)
			}
		})
	}
}

// Edge case 53: a selector that matches nothing.
func TestWaitNothing(t *testing.T) {
	for name, e := range map[string]Engine{
		"at once":           {Timeout: time.Minute},
		"without a timeout": {},
		"after Existence":   {Timeout: time.Minute, Existence: new(seconds(10))},
	} {
		t.Run(name, func(t *testing.T) {
			got := newWorld().wait(t, e, matching(goal(t, complete)), nil)
			want := time.Duration(0)
			if e.Existence != nil {
				want = *e.Existence
			}
			if !errors.As(got.Err, new(*NothingError)) || got.After != want {
				t.Errorf("got error %v after %s, want a NothingError at the end of Existence", got.Err, got.After)
			}
		})
	}
}

// Edge case 45: the server begins to serve the kind during the wait, and may stop again.
func TestWaitKind(t *testing.T) {
	w := newWorld()
	w.served = nil
	got := w.wait(t, Engine{Timeout: time.Minute}, later(named(goal(t, complete), "a")), func() {
		time.Sleep(seconds(5))
		w.serve()
		time.Sleep(seconds(5))
		w.put(job("a", "1", "Complete"))
	})
	if got.Err != nil || got.Results["a"] != "met" || got.After != seconds(10) {
		t.Errorf("%v, %v after %s", got.Err, got.Results, got.After)
	}
	waiting := 0
	for _, e := range got.Events {
		if _, ok := e.(event.Waiting); ok {
			waiting++
		}
	}
	if waiting != 1 {
		t.Errorf("%d reports that the kind is waited for", waiting)
	}

	w = newWorld(job("a", "1"))
	got = w.wait(t, Engine{Timeout: time.Minute}, named(goal(t, "delete"), "a"), func() {
		time.Sleep(seconds(5))
		w.unserve()
	})
	if got.Err != nil || got.Results["a"] != "met" {
		t.Errorf("%v, %v", got.Err, got.Results)
	}
}

// If the server says that the kind is not served and then stops answering, the earlier answer is no
// longer valid, and the result is unknown.
func TestWaitForKindWithoutAnswer(t *testing.T) {
	for name, targets := range map[string]func(*Goal) []Target{"a name": func(g *Goal) []Target { return named(g, "a") }, "a selector": matching} {
		for _, mute := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", mute ", mute), func(t *testing.T) {
				w := newWorld()
				w.served = nil
				got := w.wait(t, Engine{Timeout: seconds(10), Existence: new(time.Minute)}, later(targets(goal(t, complete))), func() {
					time.Sleep(seconds(5))
					w.mu.Lock()
					defer w.mu.Unlock()
					w.mute = mute
				})
				claims := strings.Contains(fmt.Sprint(got.Err, got.Results), "no match") || got.Results["a"] == "timeout: does not exist"
				if got.Err == nil || claims == mute || strings.Contains(got.Err.Error(), "context") {
					t.Errorf("%v, %v after %s", got.Err, got.Results, got.After)
				}
			})
		}
	}
}

// If discovery lists a kind whose objects cannot be listed, there is a pause between two requests.
func TestWaitForKindThatCannotBeListed(t *testing.T) {
	w := newWorld()
	w.refuse = func(object.Selection) error {
		time.Sleep(time.Millisecond)
		return &meta.NoResourceMatchError{}
	}
	got := w.wait(t, Engine{Timeout: time.Minute}, named(goal(t, complete), "a"), nil)
	if w.lists > 60 || got.After < time.Minute {
		t.Errorf("%d requests in %s", w.lists, got.After)
	}
}

// Edge case 50: the user may not list the objects, but may read each of them.
func TestWaitReadsEachObject(t *testing.T) {
	w := newWorld(job("a", "1", "Complete"), job("b", "2", "Complete"))
	w.refuse = func(sel object.Selection) error {
		if sel.Name == "" {
			return forbidden()
		}
		return nil
	}
	got := w.wait(t, Engine{Timeout: time.Minute}, named(goal(t, complete), "a", "b"), nil)
	if got.Err != nil || len(got.Results) != 2 || w.lists != 3 {
		t.Errorf("%v, %v, %d lists", got.Err, got.Results, w.lists)
	}
}

// Edge cases 55 and 57: a permanent error ends the wait, and is reported.
func TestWaitForbidden(t *testing.T) {
	refuse := func(object.Selection) error { return forbidden() }
	w := newWorld(job("a", "1", "Complete"))
	w.refuse = refuse
	got := w.wait(t, Engine{Timeout: time.Hour}, named(goal(t, complete), "a"), nil)
	var unmet *UnmetError
	if !errors.As(got.Err, &unmet) || unmet.Unknown != 1 || got.After != 0 {
		t.Errorf("%v after %s", got.Err, got.After)
	}
	w = newWorld(job("a", "1", "Complete"))
	w.refuse = refuse
	got = w.wait(t, Engine{Timeout: time.Hour}, matching(goal(t, complete)), nil)
	if !apierrors.IsForbidden(got.Err) {
		t.Errorf("%v", got.Err)
	}
}

// One watch serves all objects of a kind in a namespace. If there is only one object, it is watched
// by name.
func TestWaitWatches(t *testing.T) {
	w := newWorld(job("a", "1", "Complete"), job("b", "2", "Complete"), job("c", "3", "Complete"))
	got := w.wait(t, Engine{Timeout: time.Minute}, named(goal(t, complete), "a", "b", "c"), nil)
	if got.Err != nil || w.lists != 1 || w.watches[0].sel != (object.Selection{Namespace: "prod"}) {
		t.Errorf("%v, %d lists, %+v", got.Err, w.lists, w.watches[0].sel)
	}
	w = newWorld(job("a", "1", "Complete"))
	got = w.wait(t, Engine{Timeout: time.Minute}, named(goal(t, complete), "a"), nil)
	if got.Err != nil || w.watches[0].sel != (object.Selection{Namespace: "prod", Name: "a"}) {
		t.Errorf("%v, %+v", got.Err, w.watches[0].sel)
	}
}

// Several changes in a moment are reported as one.
func TestWaitBurst(t *testing.T) {
	w := newWorld(job("a", "1"))
	got := w.wait(t, Engine{Timeout: time.Minute}, named(goal(t, complete), "a"), func() {
		time.Sleep(seconds(1))
		for range 50 {
			w.put(job("a", "1", "Broken"))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(seconds(1))
		w.put(job("a", "1", "Complete"))
	})
	if got.Err != nil || got.Judged > 2 {
		t.Errorf("%v, %d reports", got.Err, got.Judged)
	}
}

// After an object has met its conditions, its deletion does not matter.
func TestWaitIgnoresDeletionAfterMet(t *testing.T) {
	w := newWorld(job("a", "1", "Complete"), job("b", "2"))
	got := w.wait(t, Engine{Timeout: time.Minute}, named(goal(t, complete), "a", "b"), func() {
		time.Sleep(seconds(1))
		w.remove("a")
		time.Sleep(seconds(1))
		w.put(job("b", "2", "Complete"))
	})
	if got.Err != nil || len(got.Warned) > 0 {
		t.Errorf("%v, %v", got.Err, got.Warned)
	}
}
