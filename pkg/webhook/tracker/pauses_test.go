package tracker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
)

// refusing is a server that forbids every list and watch, and records the times of requests.
type refusing struct {
	metadata.Interface
	metadata.ResourceInterface
	asked []time.Time
}

func (r *refusing) Resource(schema.GroupVersionResource) metadata.Getter { return refusingGetter{r} }

type refusingGetter struct{ *refusing }

func (r refusingGetter) Namespace(string) metadata.ResourceInterface { return r.refusing }

func (r *refusing) List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	r.asked = append(r.asked, time.Now())
	return nil, apierrors.NewForbidden(schema.GroupResource{}, "", nil)
}

func (r *refusing) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	r.asked = append(r.asked, time.Now())
	return nil, apierrors.NewForbidden(schema.GroupResource{}, "", nil)
}

// A kind that becomes permitted after hours is requested within a minute. It is requested several
// times, because authorizers notice a role with some delay. Before that, the kind is requested
// rarely. Changes of other roles cause no requests.
func TestKindPermittedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &refusing{}
		tr := &Tracker{opts: Options{Metadata: server}, state: newState(time.Second), lists: make(chan struct{}, 1)}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		birds := &follower{Tracker: tr, watched: tr.state.add(kind{resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "birds"}}, position{})}
		go func() { defer close(done); birds.run(ctx) }()
		within := func(d time.Duration) int {
			time.Sleep(d)
			synctest.Wait()
			n := len(server.asked)
			server.asked = nil
			return n
		}
		within(time.Hour)
		if n := within(time.Hour); n == 0 || n > 30 {
			t.Errorf("asked %d times in an hour of refusals", n)
		}
		roles := &follower{Tracker: tr, watched: tr.state.add(kind{resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}}, position{})}
		changed := func(labels map[string]string) {
			o := fields("role", 1, "kubectl")
			o.Labels = labels
			if err := roles.event(watch.Event{Type: watch.Modified, Object: o}); err != nil {
				t.Fatal(err)
			}
		}
		within(10 * time.Second)
		changed(map[string]string{"a": "b"})
		before := within(30 * time.Second)
		changed(map[string]string{permissionsLabel: "true"})
		if after := within(time.Minute); before > 1 || after < 4 {
			t.Errorf("got %d requests after an unrelated role changed, and %d after a role that permits the kind", before, after)
		}
		end()
		<-done
	})
}
