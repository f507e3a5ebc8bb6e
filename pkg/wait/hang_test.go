package wait

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// asker is an Explain function that explains every object after a delay.
type asker struct {
	takes time.Duration
	asked int
}

func (a *asker) explain(ctx context.Context, objects []Stalled) Explanations {
	a.asked++
	said := Explanations{Causes: make([][]event.Cause, len(objects)), Requests: make([]int, len(objects))}
	select {
	case <-ctx.Done():
		return said
	case <-time.After(a.takes):
	}
	for i := range objects {
		said.Causes[i] = []event.Cause{{Code: "Held"}}
	}
	return said
}

// After an interrupt, known causes are reported at once, and unknown causes are searched for during
// one second.
func TestInterruptedWait(t *testing.T) {
	for name, tc := range map[string]struct {
		at, takes time.Duration
		asked     int
		known     bool
		over      time.Duration
	}{
		"known":                              {20 * time.Second, time.Second, 1, true, 0},
		"not known yet":                      {5 * time.Second, 100 * time.Millisecond, 1, true, 100 * time.Millisecond},
		"not known, slow server":             {5 * time.Second, time.Minute, 1, false, time.Second},
		"not known, explanation in progress": {15500 * time.Millisecond, 5 * time.Second, 2, false, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gone := errors.New("interrupted")
				ctx, stop := context.WithCancelCause(t.Context())
				a := &asker{takes: tc.takes}
				var result event.Waited
				e := Engine{Source: newWorld(job("a", "1")), Timeout: time.Hour, StuckAfter: 15 * time.Second, Explain: a.explain, Emit: func(e event.Event) {
					if w, ok := e.(event.Waited); ok {
						result = w
					}
				}}
				began := time.Now()
				time.AfterFunc(tc.at, func() { stop(gone) })
				err := e.Run(ctx, named(goal(t, complete), "a"))
				if !errors.Is(err, gone) || time.Since(began) != tc.at+tc.over || a.asked != tc.asked || (len(result.Causes) > 0) != tc.known {
					t.Errorf("after %s, %d explanations, causes %v, error %v", time.Since(began), a.asked, result.Causes, err)
				}
			})
		})
	}
}

// At the end, all objects are explained, if there are not too many. Otherwise a warning names those that
// are not, and the command that explains them.
func TestManyObjectsAreExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		objects, explained int
		warned             string
	}{
		"30 objects": {30, 30, ""},
		"all":        {lastAsked, lastAsked, ""},
		"one more":   {lastAsked + 1, lastAsked, "not explained: job.batch/j-0100 -n prod; to explain all: kubectl k8sconnect unready -n prod"},
		"several":    {lastAsked + 5, lastAsked, "not explained: job.batch/j-0100 -n prod, job.batch/j-0101 -n prod, job.batch/j-0102 -n prod and 2 more; to explain all: kubectl k8sconnect unready -n prod"},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []*unstructured.Unstructured
			var names []string
			for i := range tc.objects {
				names = append(names, fmt.Sprintf("j-%04d", i))
				objects = append(objects, job(names[i], names[i]))
			}
			a := &asker{}
			got := newWorld(objects...).wait(t, Engine{Timeout: 10 * time.Second, StuckAfter: 15 * time.Second, Explain: a.explain}, named(goal(t, complete), names...), nil)
			explained, warned := 0, ""
			for _, e := range got.Events {
				switch e := e.(type) {
				case event.Waited:
					if len(e.Causes) > 0 {
						explained++
					}
				case event.Warned:
					warned += command.Fill(e.Text, command.Flags{})
				}
			}
			if explained != tc.explained || warned != tc.warned {
				t.Errorf("%d explained, want %d; warned %q, want %q", explained, tc.explained, warned, tc.warned)
			}
		})
	}
}

// If the wait is for the deletion of an object, the object is not explained as unready.
func TestNoCausesForDeletion(t *testing.T) {
	a := &asker{}
	w := newWorld(job("a", "1"))
	got := w.wait(t, Engine{Timeout: time.Minute, StuckAfter: 15 * time.Second, Explain: a.explain}, named(goal(t, "delete"), "a"), func() {
		time.Sleep(40 * time.Second)
		w.remove("a")
	})
	if got.Err != nil || a.asked != 0 {
		t.Errorf("%v, %d explanations", got.Err, a.asked)
	}
}

// movable returns a Job with the given number of active Pods, which counts as its progress.
func movable(active int) *unstructured.Unstructured {
	u := job("a", "1")
	if err := unstructured.SetNestedField(u.Object, int64(active), "status", "active"); err != nil {
		panic(err)
	}
	return u
}

// If an object moves while it is being explained, that explanation is outdated. It is not reported,
// does not end the wait, and is not used as the final one.
func TestObjectMovesDuringExplanation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(movable(1))
		var moved []bool
		reported := 0
		e := Engine{
			Timeout: time.Minute, StuckAfter: 15 * time.Second,
			Explain: func(_ context.Context, objects []Stalled) Explanations {
				moved = append(moved, objects[0].Moved)
				said := Explanations{Causes: make([][]event.Cause, len(objects)), Requests: make([]int, len(objects))}
				if len(moved) == 1 {
					time.Sleep(5 * time.Second)
					said.Causes[0] = []event.Cause{{Code: "Held"}}
				}
				return said
			},
		}
		e.Source, e.Emit = w, func(e event.Event) {
			if _, ok := e.(event.Stalled); ok {
				reported++
			}
			if result, ok := e.(event.Waited); ok && len(result.Causes) > 0 {
				t.Errorf("the result has causes %v", result.Causes)
			}
		}
		time.AfterFunc(17*time.Second, func() { w.put(movable(2)) })
		err := e.Run(t.Context(), named(goal(t, complete), "a"))
		if err == nil || reported != 0 || len(moved) < 2 || !moved[1] {
			t.Errorf("error %v, %d reports; moved before explanations: %v", err, reported, moved)
		}
	})
}

// If an object has moved since its cause was reported, and the last explanation finds no cause, the
// result has none.
func TestOutdatedCause(t *testing.T) {
	for name, tc := range map[string]struct {
		last []event.Cause
		slow bool
		want int
	}{
		"nothing is wrong any more": {want: 0},
		"another cause":             {last: []event.Cause{{Code: "Other"}}, want: 1},
		"no answer":                 {slow: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, asked := newWorld(movable(1)), 0
				var result event.Waited
				e := Engine{Source: w, Timeout: 30 * time.Second, StuckAfter: 15 * time.Second, Emit: func(e event.Event) {
					if r, ok := e.(event.Waited); ok {
						result = r
					}
				}}
				e.Explain = func(ctx context.Context, objects []Stalled) Explanations {
					asked++
					said := Explanations{Causes: [][]event.Cause{tc.last}, Requests: make([]int, len(objects))}
					switch {
					case asked == 1:
						said.Causes[0] = []event.Cause{{Code: "Held"}}
					case tc.slow:
						<-ctx.Done()
					}
					return said
				}
				time.AfterFunc(25*time.Second, func() { w.put(movable(2)) })
				if err := e.Run(t.Context(), named(goal(t, complete), "a")); err == nil || asked != 2 {
					t.Errorf("error %v, %d explanations", err, asked)
				}
				if len(result.Causes) != tc.want || tc.last != nil && result.Causes[0].Code != "Other" {
					t.Errorf("causes %v", result.Causes)
				}
			})
		})
	}
}
