package wait

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// warned returns the warnings that are about the whole wait and not about an object.
func warned(events []event.Event) []string {
	var all []string
	for _, e := range events {
		if w, ok := e.(event.Warned); ok && w.Ref == (object.Ref{}) {
			all = append(all, w.Text)
		}
	}
	return all
}

// A missing object is reported at the beginning of the wait, with a suggestion, and not only at the
// timeout.
func TestMissingObjectIsReportedAtOnce(t *testing.T) {
	why := func(_ context.Context, _ object.Kind, ref object.Ref) string {
		if ref.Name == "" {
			return "namespace/prod does not exist"
		}
		return "did you mean job.batch/b -n prod?"
	}
	w := newWorld(job("b", "2"))
	var lock sync.Mutex
	var at time.Time // in virtual time
	engine := Engine{Timeout: time.Minute, Absent: func(ctx context.Context, kind object.Kind, ref object.Ref) string {
		lock.Lock()
		at = time.Now()
		lock.Unlock()
		return why(ctx, kind, ref)
	}}
	got := w.wait(t, engine, named(goal(t, complete), "a", "c"), nil)
	want := []string{"job.batch/a -n prod and 1 more do not exist yet; waiting for them", "did you mean job.batch/b -n prod?"}
	if !slices.Equal(warned(got.Events), want) {
		t.Errorf("warnings %q", warned(got.Events))
	}
	if began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); at.Sub(began) > time.Second || got.Results["a"] != "timeout: does not exist; did you mean job.batch/b -n prod?" {
		t.Errorf("%v, asked at %s", got.Results, at)
	}

	// With Existence, or with --for=create, the user expects that the object may be missing, so
	// there is no early report.
	for _, engine := range []Engine{{Timeout: time.Minute}, {Timeout: time.Minute, Existence: new(time.Duration(0))}} {
		engine.Absent = why
		texts := []string{"create"}
		if engine.Existence != nil {
			texts = []string{complete}
		}
		if got := newWorld().wait(t, engine, named(goal(t, texts...), "a"), nil); len(warned(got.Events)) > 0 {
			t.Errorf("warnings %q", warned(got.Events))
		}
	}

	// The selector matches nothing because the namespace does not exist.
	nothing, ok := errors.AsType[*NothingError](newWorld().wait(t, Engine{Timeout: time.Minute, Absent: why}, matching(goal(t, complete)), nil).Err)
	if !ok || nothing.Why != "namespace/prod does not exist" {
		t.Errorf("%+v", nothing)
	}
}

// If an object found by a selector is deleted, the wait does not continue with another object of
// the same name.
func TestWaitForObjectsFoundBySelector(t *testing.T) {
	found := func(g *Goal, names ...string) []Target {
		targets := named(g, names...)
		for i := range targets {
			targets[i].Found = true
		}
		return targets
	}
	w := newWorld(job("a", "1"), job("b", "2"))
	got := w.wait(t, Engine{Timeout: time.Minute}, found(goal(t, complete), "a", "b"), func() {
		time.Sleep(seconds(2))
		w.remove("a")
		w.put(job("b", "2", "Complete"))
	})
	if got.Err != nil || got.Results["a"] != "deleted: deleted during the wait" || got.Results["b"] != "met" || got.After != seconds(2) {
		t.Errorf("%v, %v after %s", got.Err, got.Results, got.After)
	}

	// The only object is deleted before it meets its condition. Then nothing is left to wait for,
	// but the wait is no success.
	w = newWorld(job("a", "1"))
	got = w.wait(t, Engine{Timeout: time.Minute}, found(goal(t, complete), "a"), func() { time.Sleep(seconds(2)); w.remove("a") })
	unmet := new(UnmetError)
	if !errors.As(got.Err, &unmet) || unmet.Late != 1 || got.After != seconds(2) {
		t.Errorf("%v after %s", got.Err, got.After)
	}

	// The object was deleted before the wait began.
	got = newWorld().wait(t, Engine{Timeout: time.Minute}, found(goal(t, complete), "a"), nil)
	if !errors.As(got.Err, &unmet) || got.After != 0 {
		t.Errorf("%v after %s", got.Err, got.After)
	}
	if got = newWorld().wait(t, Engine{Timeout: time.Minute}, found(goal(t, "delete"), "a"), nil); got.Err != nil || got.Results["a"] != "met" {
		t.Errorf("%v, %v", got.Err, got.Results)
	}
}
