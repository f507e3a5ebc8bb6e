package webhook_test

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
)

// Edge case 79: a terminating replica reports at once that it is not ready, responds until the API
// server uses another one, and loses no call. (Failed calls would fail the writes here.)
func TestReplicaEndsUnderLoad(t *testing.T) {
	first := start(t, shared.Cluster(t), webhook.Parts{})
	first.namespace(t, "load")
	eventually(t, "ready", func() bool { return first.ready() })
	second := first.replica(t)
	eventually(t, "ready", func() bool { return second.ready() })

	const writers, writes = 4, 60
	errs := make(chan error, writers)
	half := make(chan struct{}, writers)
	for w := range writers {
		go func() {
			errs <- func() error {
				for i := range writes {
					if i == writes/2 {
						half <- struct{}{}
					}
					u := settings("load", fmt.Sprint("a", w), fmt.Sprintf(`{k: "%d"}`, i))
					if _, err := first.admin.tryApply(u, fmt.Sprint("m", i%2), false); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	<-half
	// As when a pod's endpoint is removed while it terminates.
	if err := first.RouteService(systemNamespace, serviceName, second.address); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- first.stop() }()
	eventually(t, "not ready", func() bool { return !first.ready() })
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	calls := second.calls(t, "ownership")
	first.admin.apply(t, settings("load", "a0", `{k: "last"}`), "m3", false)
	if second.calls(t, "ownership") == calls {
		t.Error("the second replica is not called")
	}
}

// Promise 1: without the webhook, writes succeed. The policy is the installed one.
func TestWritesWithoutWebhook(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.namespace(t, "gone")
	u := r.admin.apply(t, settings("gone", "a", `{k: "1"}`), "argo", false)
	r.policy(t, "Ignore")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "writes pass", func() bool { // the API server notices the policy a moment later
		_, err := r.admin.tryApply(settings("gone", "a", `{k: "2"}`), "flux", false)
		return err == nil
	})
	if len(r.hints.of(u)) > 0 {
		t.Error("the webhook was still called")
	}
}

// ready returns whether the webhook is ready.
func (r *running) ready() bool {
	response, err := http.Get("http://" + r.health + "/readyz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// policy sets the failure policy.
func (r *running) policy(t *testing.T, policy string) {
	t.Helper()
	u := &unstructured.Unstructured{Object: r.configuration.DeepCopy().Object}
	webhooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	for _, w := range webhooks {
		w.(map[string]any)["failurePolicy"] = policy
	}
	u.Object["webhooks"] = webhooks
	r.admin.apply(t, u, "setup", false)
}
