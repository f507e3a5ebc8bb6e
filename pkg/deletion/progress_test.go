package deletion

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// While an object waits only for the garbage collector, changes in it are not reported, except the
// removal of another finalizer.
func TestChangesDuringCascadeAreNotReported(t *testing.T) {
	for name, test := range map[string]struct {
		first, last []string
		want        []string
	}{
		"orphan":                               {[]string{"orphan"}, nil, nil},
		"foreground":                           {[]string{"foregroundDeletion"}, nil, nil},
		"another client removes its finalizer": {[]string{"example.com/hold", "orphan"}, []string{"orphan"}, []string{"finalizer example.com/hold is gone"}},
		"garbage collector removes one of two finalizers": {[]string{"example.com/hold", "orphan"}, []string{"example.com/hold"}, []string{"condition Available is False (Gone)"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(config("a", test.first...))
				after(time.Second, func() {
					u := terminating(config("a", test.last...))
					if len(test.last) == 0 {
						u = terminating(config("a", test.first...))
					}
					u.Object["status"] = map[string]any{"phase": "Going", "conditions": []any{
						map[string]any{"type": "Available", "status": "False", "reason": "Gone"},
					}}
					f.put(u)
				})
				after(10*time.Second, func() { f.remove("a") })
				r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a"))
				same(t, []string{"a deleted"}, r.results())
				var got []string
				for _, e := range r.events {
					if going, ok := e.(event.Terminating); ok {
						got = append(got, going.Text)
					}
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("reported %q, want %q", got, test.want)
				}
			})
		})
	}
}
