package companion_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// By default a custom kind is not tracked, because the webhook may not list it. The webhook notices
// a role that permits it without a restart, and records takeovers from then on.
func TestKindPermittedLater(t *testing.T) {
	c := newClient(t, "")
	c.birds(t, "permitted")
	n := 0
	taken := func() bool {
		n++
		bird := fmt.Sprintf("{apiVersion: example.com/v1beta1, kind: Bird, metadata: {name: b-%d, namespace: permitted}, spec: {a: ", n)
		c.apply(t, birds, bird+"one}}", "first")
		c.apply(t, birds, bird+"two}}", "second")
		return c.anyRecord(t, "permitted")
	}
	eventually(t, "it is refused", func() bool {
		refused, err := c.replica.Metric(t.Context(), "k8sconnect_tracker_kinds_refused")
		return err == nil && refused > 0
	})
	if taken() {
		t.Error("a takeover was recorded, but the webhook may not list the kind")
	}
	c.apply(t, clusterRoles, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole,
		metadata: {name: birds-for-the-webhook, labels: {k8sconnect.io/aggregate-to-webhook: "true"}},
		rules: [{apiGroups: [example.com], resources: [birds], verbs: [list, watch]}]}`, "setup")
	eventually(t, "a takeover is recorded", taken)
}

// anyRecord reports whether a namespace has any records.
func (c *client) anyRecord(t *testing.T, namespace string) bool {
	t.Helper()
	list, err := c.Resource(records).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items) > 0
}
