package deletion

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// If fifty finalizers are removed within two seconds, only a few lines are printed. The last
// removal is reported although no other change follows.
func TestBurstOfRemovedFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var finalizers []string
		for i := range 52 {
			finalizers = append(finalizers, fmt.Sprintf("x/%d", i))
		}
		f := newFake(config("a", finalizers...))
		for i := range 51 {
			after(10*time.Second+time.Duration(i)*40*time.Millisecond, func() { f.put(terminating(config("a", finalizers[i+1:]...))) })
		}
		after(30*time.Second, func() { f.remove("a") })
		r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a"))
		var reported []string
		for _, e := range r.events {
			if g, ok := e.(event.Terminating); ok {
				reported = append(reported, g.Text)
			}
		}
		if len(reported) < 2 || len(reported) > 5 || reported[len(reported)-1] != "finalizer x/50 is gone" {
			t.Errorf("reports %q", reported)
		}
	})
}
