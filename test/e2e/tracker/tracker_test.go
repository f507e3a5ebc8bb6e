package tracker_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/ownershiptest"
)

// admitted returns admission's hint for a write from one version of an object to its next, which a
// dry run predicts.
func admitted(t *testing.T, was, will *unstructured.Unstructured, user, request string) ownership.Hint {
	t.Helper()
	transitions, err := ownershiptest.Transitions(was, will)
	if err != nil {
		t.Fatal(err)
	}
	return ownership.Hint{
		UID: was.GetUID(), ResourceVersion: was.GetResourceVersion(),
		Owners: ownership.Tracked(will.GetManagedFields()), Verdicts: ownership.VerdictsOn(transitions),
		User: user, Request: types.UID(request), Time: time.Now(),
	}
}

func TestReportedTakeovers(t *testing.T) {
	w := newWorld(t, shared.Cluster(t))
	r := w.track(t, true)

	t.Run("by apply, with the user and the verdict of the hint", func(t *testing.T) {
		was := w.set(t, "argo", "one", "1")
		r.Hint(admitted(t, was, w.set(t, "flux", "one", "2", "All"), "alice", "1"))
		w.set(t, "flux", "one", "2")
		r.expect(t, "ConfigMap/one: .data.k taken from argo (Apply) by flux (Apply) as alice")
	})

	// Edge case 98: without values, the co-owner seems to have released the field.
	t.Run("from a co-owner, as admission saw it", func(t *testing.T) {
		w.set(t, "argo", "shared", "1")
		was := w.set(t, "flux", "shared", "1")
		r.forget()
		r.Hint(admitted(t, was, w.set(t, "flux", "shared", "2", "All"), "alice", "1"))
		w.set(t, "flux", "shared", "2")
		r.expect(t, "ConfigMap/shared: .data.k taken from argo (Apply) by flux (Apply) as alice")
	})

	// Edge case 72: an admitted write that was refused leaves no trace. The write committed instead
	// has its own user, or none.
	t.Run("not by a client that was refused", func(t *testing.T) {
		r.forget()
		was := w.set(t, "argo", "two", "1")
		r.Hint(admitted(t, was, w.set(t, "mallory", "two", "2", "All"), "mallory", "1"))
		w.set(t, "flux", "two", "3")
		r.expect(t, "ConfigMap/two: .data.k lost by argo (Apply) to flux (Apply)")
	})

	// Edge case 71: no admission review contains a change through /scale.
	t.Run("by scale", func(t *testing.T) {
		r.forget()
		w.apply(t, "flux", deployments, w.work, deployment)
		patch := []byte(`{"spec":{"replicas":5}}`)
		if _, err := w.dynamic.Resource(deployments).Namespace(w.work).Patch(t.Context(), "web", "application/merge-patch+json", patch, metav1.PatchOptions{FieldManager: "kubectl"}, "scale"); err != nil {
			t.Fatal(err)
		}
		r.expect(t, "Deployment/web: .spec.replicas taken from flux (Apply) by kubectl (scale)")
	})
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.com/web}]}
`
