package companion_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// Six kinds of deleters delete objects while replicas of the webhook are killed. The judge is the
// test's own list of who deleted what. No user may be wrong, at most a tenth may be missing, and no
// deletion may be missing that is not counted as dropped.
func TestDeletionStorm(t *testing.T) {
	each, pause := circle.Of(12, 385, 385), circle.Of[time.Duration](0, 100, 100)*time.Millisecond
	c := newClient(t, "")
	person, collector, pruner := newClient(t, "person@example.com"), newClient(t, "collector@example.com"), newClient(t, "pruner@example.com")
	c.namespace(t, "storm")
	c.namespace(t, "storm-going")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	second, err := shared.webhook.Start(ctx)
	c.must(t, err)

	want := map[types.UID]fate{}
	// add creates a deleter's objects, and notes what must be recorded of each.
	add := func(namespace, kind string, n int, f fate, more func(i int) string) (all []*unstructured.Unstructured) {
		f.Gone = true
		for i := range n {
			extra := ", labels: {deleter: " + kind + "}"
			if more != nil {
				extra += more(i)
			}
			o := c.apply(t, configMaps, configMap(namespace, fmt.Sprint(kind, "-", i), extra), "flux")
			want[o.GetUID()] = f
			all = append(all, o)
		}
		return all
	}
	byPerson := add("storm", "person", each, fate{By: ownership.ByUser, User: "person@example.com"}, nil)
	add("storm", "collection", each, fate{By: ownership.ByUser, User: "collector@example.com"}, nil)
	add("storm", "prune", each, fate{By: ownership.ByUser, User: "pruner@example.com"}, nil)
	add("storm-going", "inside", each, fate{By: ownership.ByNamespace, Via: "Namespace/storm-going"}, nil)
	parents := add("storm", "parent", max(each/8, 1), fate{By: ownership.ByUser, User: "person@example.com"}, nil)
	for n, p := range parents {
		add("storm", fmt.Sprint("child-", n), 8, fate{By: ownership.ByOwner, Via: "ConfigMap/" + p.GetName()}, func(int) string {
			return ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: " + p.GetName() + ", uid: " + string(p.GetUID()) + "}]"
		})
	}
	replicas := max(each/8, 2)
	c.apply(t, deployments, web("storm", fmt.Sprint(replicas)), "flux")
	eventually(t, "the Pods are there", func() bool {
		list, err := c.Resource(pods).Namespace("storm").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		c.must(t, err)
		for _, o := range list.Items {
			want[o.GetUID()] = fate{By: ownership.ByController, User: "system:serviceaccount:kube-system:replicaset-controller", Gone: true}
		}
		return len(list.Items) == replicas
	})

	var all, storm sync.WaitGroup
	stop := make(chan struct{})
	all.Go(func() { // one replica stays at a time, or none for a moment
		r := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-stop:
				return
			case <-time.After(circle.Of[time.Duration](3, 8, 8)*time.Second + time.Duration(r.IntN(4000))*time.Millisecond):
			}
			victim := &second
			if r.IntN(2) == 0 {
				victim = &shared.replica
			}
			(*victim).Kill()
			if next, err := shared.webhook.Start(ctx); err == nil {
				*victim = next
			} else {
				t.Error(err)
			}
		}
	})
	maps := func(c *client) interface {
		Delete(context.Context, string, metav1.DeleteOptions, ...string) error
	} {
		return c.Resource(configMaps).Namespace("storm")
	}
	storm.Go(func() {
		for _, o := range append(byPerson, parents...) {
			if err := maps(person).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			time.Sleep(pause) // The storm must outlast several kills.
		}
	})
	storm.Go(func() {
		err := collector.Resource(configMaps).Namespace("storm").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "deleter=collection"})
		if err != nil {
			t.Error(err)
		}
	})
	storm.Go(func() {
		if message, status := pruner.plugin(t, "delete", "cm", "-n", "storm", "-l", "deleter=prune", "--as=pruner@example.com", "--as-group=system:masters"); status != 0 {
			t.Error(status, message)
		}
	})
	storm.Go(func() {
		if err := person.Resource(namespaces).Delete(ctx, "storm-going", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	storm.Go(func() { c.apply(t, deployments, web("storm", "0"), "flux") })
	storm.Wait()
	eventually(t, "everything is gone", func() bool {
		list, err := c.Resource(configMaps).List(ctx, metav1.ListOptions{LabelSelector: "deleter"})
		c.must(t, err)
		left, err := c.Resource(pods).Namespace("storm").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		c.must(t, err)
		return len(list.Items)+len(left.Items) == 0
	})
	close(stop)
	all.Wait()

	var found map[types.UID]ownership.Deletion
	dropped := 0
	defer func() {
		if t.Failed() {
			missing := map[string]int{}
			for uid, f := range want {
				if d := found[uid]; d.Gone.IsZero() {
					missing[fmt.Sprint(f, " asked: ", !d.Asked.IsZero())]++
				}
			}
			t.Logf("%d dropped, missing: %v", dropped, missing)
		}
	}()
	eventually(t, "all is recorded or counted", func() bool {
		found, dropped = c.deletions(t)
		missing := 0
		for uid := range want {
			if d := found[uid]; d.Gone.IsZero() {
				missing++
			}
		}
		return missing <= dropped
	})
	users, unknown, wrong := 0, 0, 0
	for uid, w := range want {
		d, has := found[uid]
		if !has {
			continue
		}
		got := fateOf(d)
		if w.User != "" {
			users++
		}
		switch {
		case w.User != "" && got.User == "":
			unknown++
		case got.User != w.User, got.User != "" && got != w, got.Via != "" && got.Via != w.Via:
			wrong++
			t.Errorf("%s: %+v, want %+v", d.Object.Name, got, w)
		}
	}
	t.Logf("%d deletions: %d recorded, %d dropped; of %d users, %d missing, %d wrong", len(want), len(found), dropped, users, unknown, wrong)
	if unknown*10 > users && users > 100 || unknown == users {
		t.Errorf("%d of %d users are missing", unknown, users)
	}
}

// deletions returns all recorded deletions, and how many were dropped.
func (c *client) deletions(t *testing.T) (map[types.UID]ownership.Deletion, int) {
	t.Helper()
	list, err := c.Resource(records).List(t.Context(), metav1.ListOptions{LabelSelector: ownership.DeletionLabel})
	c.must(t, err)
	out, dropped := map[types.UID]ownership.Deletion{}, 0
	for _, item := range list.Items {
		var r ownership.Record
		c.must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &r))
		dropped += r.DeletionsDropped
		for _, d := range r.Deletions {
			out[d.Object.UID] = d
		}
	}
	return out, dropped
}
