package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// asker explains every object, and takes its time for it.
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

// A user who interrupts a wait gets the known causes, at once; where none is known, the server is
// asked, for a second.
func TestInterruptedWait(t *testing.T) {
	for name, tc := range map[string]struct {
		at, takes time.Duration
		asked     int
		known     bool
		over      time.Duration
	}{
		"what is known":               {20 * time.Second, time.Second, 1, true, 0},
		"nothing is known yet":        {5 * time.Second, 100 * time.Millisecond, 1, true, 100 * time.Millisecond},
		"nothing, of a slow server":   {5 * time.Second, time.Minute, 1, false, time.Second},
		"nothing, while it was asked": {15500 * time.Millisecond, 5 * time.Second, 2, false, time.Second},
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
					t.Errorf("after %s, %d questions, causes %v, error %v", time.Since(began), a.asked, result.Causes, err)
				}
			})
		})
	}
}

// An object that is waited for until it is gone is not examined for readiness.
func TestNoCausesOfWhatIsToGo(t *testing.T) {
	a := &asker{}
	w := newWorld(job("a", "1"))
	got := w.wait(t, Engine{Timeout: time.Minute, StuckAfter: 15 * time.Second, Explain: a.explain}, named(goal(t, "delete"), "a"), func() {
		time.Sleep(40 * time.Second)
		w.remove("a")
	})
	if got.Err != nil || a.asked != 0 {
		t.Errorf("%v, %d questions", got.Err, a.asked)
	}
}

// movable is a Job of which a controller says so much.
func movable(active int) *unstructured.Unstructured {
	u := job("a", "1")
	if err := unstructured.SetNestedField(u.Object, int64(active), "status", "active"); err != nil {
		panic(err)
	}
	return u
}

// An object that moves while it is examined may not hang any more: the answer is of a time that is
// over. It is not told, decides nothing, and does not count as the last one.
func TestMovesWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(movable(1))
		var moved []bool
		told := 0
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
				told++
			}
			if result, ok := e.(event.Waited); ok && len(result.Causes) > 0 {
				t.Errorf("at the end it is told of %v", result.Causes)
			}
		}
		time.AfterFunc(17*time.Second, func() { w.put(movable(2)) })
		err := e.Run(t.Context(), named(goal(t, complete), "a"))
		if err == nil || told != 0 || len(moved) < 2 || !moved[1] {
			t.Errorf("error %v, told %d times; asked, it had moved: %v", err, told, moved)
		}
	})
}

// A cause that was told is not the last word where the object moved since, and the last
// question finds nothing.
func TestCauseThatIsOver(t *testing.T) {
	for name, tc := range map[string]struct {
		last []event.Cause
		slow bool
		want int
	}{
		"nothing is wrong any more": {want: 0},
		"something else is":         {last: []event.Cause{{Code: "Other"}}, want: 1},
		"nobody answers":            {slow: true, want: 1},
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
					t.Errorf("error %v, asked %d times", err, asked)
				}
				if len(result.Causes) != tc.want || tc.last != nil && result.Causes[0].Code != "Other" {
					t.Errorf("causes %v", result.Causes)
				}
			})
		})
	}
}
