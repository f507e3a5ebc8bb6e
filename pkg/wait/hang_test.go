package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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

// Who interrupts a wait is told what is known, at once; where nothing is known, it is
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

// Nobody asks why something is not ready that is waited for until it is gone.
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
