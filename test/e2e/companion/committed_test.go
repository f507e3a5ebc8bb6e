package companion_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// service returns a Service of a type.
func service(sort, affinity string) string {
	return `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: refused}
spec: {type: ` + sort + `, sessionAffinity: ` + affinity + `, ports: [{port: 80}]}`
}

// Edge case 72: an admitted write may still be refused, here by a quota, which is checked last. It
// leaves no trace in the record, and its user is not taken for that of the successful write.
func TestRefusedAfterAdmission(t *testing.T) {
	circle.Full(t) // test/e2e/tracker has a write that was admitted and then refused
	c := newClient(t, "")
	c.namespace(t, "refused")
	c.apply(t, quotas, `
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: refused}
spec: {hard: {services.nodeports: "0"}}`, "setup")
	eventually(t, "the quota counts", func() bool {
		q, err := c.Resource(quotas).Namespace("refused").Get(t.Context(), "q", metav1.GetOptions{})
		return err == nil && q.Object["status"].(map[string]any)["used"] != nil
	})
	o := c.apply(t, services, service("ClusterIP", "None"), "argo")
	mallory, alice := newClient(t, "mallory"), newClient(t, "alice")
	for range 3 {
		if _, err := mallory.try(t, services, service("NodePort", "ClientIP"), "flux"); !apierrors.IsForbidden(err) {
			t.Fatalf("not refused: %v", err)
		}
	}
	if len(mallory.reported()) == 0 {
		t.Fatal("the webhook was not called: the test proves nothing")
	}
	alice.apply(t, services, service("ClusterIP", "ClientIP"), "flux")
	c.awaitTaken(t, o, taking{".spec.sessionAffinity", "argo", "flux", "alice"})
	if got := takings(c.record(t, o)); len(got) != 1 {
		t.Errorf("recorded: %+v", got)
	}
}

// Edge case 72: the API server retries conflicting patches, and calls the webhook each time. Each
// takeover is recorded once, with its own user.
func TestRetriedByServer(t *testing.T) {
	c := newClient(t, "")
	c.namespace(t, "retried")
	const one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: retried}, data: {k: '0'}}"
	o := c.apply(t, configMaps, one, "argo")
	const users = 6
	clients := make([]*client, users)
	for i := range clients {
		clients[i] = newClient(t, fmt.Sprint("user-", i))
	}
	var group sync.WaitGroup
	for i, user := range clients {
		group.Go(func() {
			_, err := user.Resource(configMaps).Namespace("retried").Patch(t.Context(), "a", types.MergePatchType,
				fmt.Appendf(nil, `{"data":{"k":"by %d"}}`, i), metav1.PatchOptions{FieldManager: fmt.Sprint("manager-", i)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var entries []ownership.Entry
	eventually(t, "all are recorded", func() bool {
		entries = c.record(t, o)
		return len(entries) >= users
	})
	var seen []string
	holder := "argo"
	for _, e := range entries {
		by := e.To[0].Manager
		seen = append(seen, by)
		if e.Count != 1 || e.Gap || e.From[0].Manager != holder || e.User != "user"+by[len("manager"):] {
			t.Errorf("unexpected entry after the owner %s: %+v", holder, e)
		}
		holder = by
	}
	if slices.Sort(seen); len(slices.Compact(seen)) != users || len(entries) != users {
		t.Errorf("%d takeovers are recorded, by %v, want one for each user", len(entries), seen)
	}
}
