package watchset

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// cluster serves ConfigMaps "a" and "b" of many namespaces. It records the selections of watches.
type cluster struct {
	namespaces []string
	refuses    bool // watches across namespaces

	mu      sync.Mutex
	asked   []object.Selection
	running int
}

func (c *cluster) Watch(ctx context.Context, _ object.Kind, sel object.Selection, report func(object.Change)) error {
	c.mu.Lock()
	c.asked = append(c.asked, sel)
	c.running++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.running--
		c.mu.Unlock()
	}()
	if sel.Namespace == "" && c.refuses {
		return refused
	}
	for _, namespace := range c.namespaces {
		for _, name := range []string{"a", "b"} {
			if (sel.Namespace == "" || sel.Namespace == namespace) && (sel.Name == "" || sel.Name == name) {
				u := &unstructured.Unstructured{}
				u.SetNamespace(namespace)
				u.SetName(name)
				u.SetUID(types.UID(namespace + name))
				report(object.Present{Object: u})
			}
		}
	}
	report(object.Synced{})
	<-ctx.Done()
	return context.Cause(ctx)
}

// Views report the same with a shared watch and with their own: each its own objects, then those that
// are missing, then Synced.
func TestAcross(t *testing.T) {
	for name, tt := range map[string]struct {
		expected        int // 0 stands for all views
		labels          func(view int) string
		worth, refuses  bool
		watches, across int
	}{
		"shared":             {worth: true, watches: 1, across: 1},
		"not worth it":       {watches: 20},
		"not allowed":        {worth: true, refuses: true, watches: 21, across: 1},
		"by labels":          {worth: true, labels: func(int) string { return "set=one" }, watches: 1, across: 1},
		"by various labels":  {worth: true, labels: func(i int) string { return fmt.Sprint("half=", i%2) }, watches: 11, across: 1},
		"a view never comes": {expected: 25, worth: true, watches: 1, across: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &cluster{refuses: tt.refuses}
				const views = 20
				for i := range views {
					server.namespaces = append(server.namespaces, fmt.Sprint("n", i))
				}
				server.namespaces = server.namespaces[1:] // n0 is empty.
				a := &Across{Watcher: server, Worth: func(context.Context, object.Kind, int) bool { return tt.worth }}
				if tt.expected == 0 {
					tt.expected = views
				}
				a.Expect(configMaps.GVK, tt.expected)
				ctx, stop := context.WithCancel(t.Context())
				var all sync.WaitGroup
				got := make([][]string, views)
				for i := range views {
					v := &View{Server: a, Kind: configMaps, Selection: object.Selection{Namespace: fmt.Sprint("n", i)}, Names: []string{"a"}}
					if tt.labels != nil {
						v.Selection.Labels = tt.labels(i)
					}
					all.Go(func() {
						_ = v.Follow(ctx, func(c object.Change) { got[i] = append(got[i], say(c)) })
					})
				}
				synctest.Wait()
				time.Sleep(2 * joinWithin)
				synctest.Wait()
				for i := range views {
					want := []string{fmt.Sprintf("n%d/a n%da", i, i), "synced"}
					if i == 0 {
						want = []string{"n0/a  gone", "synced"}
					}
					if !slices.Equal(got[i], want) {
						t.Errorf("namespace n%d: %v, want %v", i, got[i], want)
					}
				}
				across := 0
				for _, sel := range server.asked {
					if sel.Namespace == "" {
						across++
					}
				}
				if len(server.asked) != tt.watches || across != tt.across {
					t.Errorf("%d watches, %d of them across namespaces; want %d and %d", len(server.asked), across, tt.watches, tt.across)
				}
				stop()
				all.Wait()
				synctest.Wait()
				if server.running > 0 {
					t.Errorf("%d watches go on after all views have ended", server.running)
				}
			})
		})
	}
}
