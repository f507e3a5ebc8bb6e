package kinds

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Those who ask at the same time share an answer, and no error: the first may have been
// interrupted. Who asks later is answered anew, unless answers are kept.
func TestTogether(t *testing.T) {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	for name, tt := range map[string]struct {
		keeps bool
		fails int32 // how many of the first requests
		want  int32 // requests for five who ask at once, and one later
	}{
		"answered":             {fails: 0, want: 2},
		"interrupted":          {fails: 1, want: 6},
		"kept":                 {keeps: true, fails: 0, want: 1},
		"interrupted and kept": {keeps: true, fails: 1, want: 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var (
					together = together{keeps: tt.keeps}
					asked    atomic.Int32
					all      sync.WaitGroup
				)
				ask := func(context.Context, schema.GroupVersion) (listing, error) {
					n := asked.Add(1)
					time.Sleep(100 * time.Millisecond)
					if n <= tt.fails {
						return listing{}, errors.New("interrupted")
					}
					return listing{found: true}, nil
				}
				var failed atomic.Int32
				for range 5 {
					all.Go(func() {
						if l, err := together.listed(t.Context(), gv, ask); err != nil || !l.found {
							failed.Add(1)
						}
					})
				}
				all.Wait()
				if n := failed.Load(); n != tt.fails {
					t.Errorf("%d failed, want %d", n, tt.fails)
				}
				if l, err := together.listed(t.Context(), gv, ask); err != nil || !l.found {
					t.Errorf("later: %v, %v", l, err)
				}
				if n := asked.Load(); n != tt.want {
					t.Errorf("%d requests, want %d", n, tt.want)
				}
			})
		})
	}
}
