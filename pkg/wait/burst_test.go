package wait

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// If an object is written fifty times within two seconds, only a few lines are printed. The last
// state is reported although no other change follows.
func TestBurst(t *testing.T) {
	at := func(n int64) *unstructured.Unstructured {
		u := job("a", "1")
		u.Object["status"] = map[string]any{"n": n}
		return u
	}
	w := newWorld(at(0))
	got := w.wait(t, Engine{Timeout: time.Minute}, named(goal(t, "jsonpath={.status.n}=1000"), "a"), func() {
		for n := range int64(50) {
			time.Sleep(40 * time.Millisecond)
			w.put(at(n + 1))
		}
	})
	var last any
	for _, e := range got.Events {
		if j, ok := e.(event.Judged); ok {
			last = j.Conditions[0].Values[0].Value
		}
	}
	if got.Judged < 2 || got.Judged > 4 || last != int64(50) {
		t.Errorf("%d reports, the last %v", got.Judged, last)
	}
}
