package companion_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// web returns a Deployment with a number of replicas.
func web(namespace, replicas string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ` + namespace + `}
spec:
  replicas: ` + replicas + `
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "registry.example/web:1"}]}`
}

// taking is a takeover in a record: the path, both managers, and the user.
type taking struct{ Path, From, To, User string }

// takings returns a record's takeovers, in order.
func takings(entries []ownership.Entry) []taking {
	names := func(holders []ownership.Holder) string {
		var out []string
		for _, h := range holders {
			name := h.Manager
			if h.Subresource != "" {
				name += " (" + h.Subresource + ")"
			}
			out = append(out, name)
		}
		return strings.Join(out, ", ")
	}
	var out []taking
	for _, e := range entries {
		if e.Kind == ownership.Taken {
			out = append(out, taking{e.Path, names(e.From), names(e.To), e.User})
		}
	}
	return out
}

// awaitTaken waits until a takeover of a path is recorded.
func (c *client) awaitTaken(t *testing.T, o *unstructured.Unstructured, want taking) {
	t.Helper()
	var got []taking
	defer func() {
		if t.Failed() {
			t.Logf("recorded: %+v", got)
		}
	}()
	eventually(t, "recorded", func() bool {
		got = takings(c.record(t, o))
		return slices.ContainsFunc(got, func(r taking) bool { return r.Path == want.Path && r.To == want.To })
	})
	if !slices.Contains(got, want) {
		t.Errorf("not recorded: %+v", want)
	}
}

// autoscaler is the controller's user.
const autoscaler = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"

// Edge case 71: the autoscaler takes fields through /scale, where admission does not see the
// owners. The record has the takeover, with the controller's manager and user. A client that takes
// the field back gets a warning.
func TestAutoscaler(t *testing.T) {
	c := newClient(t, "")
	c.namespace(t, "autoscaled")
	o := c.apply(t, deployments, web("autoscaled", "1"), "flux")
	c.apply(t, autoscalers, `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: autoscaled}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3 # It needs no metrics to get there.
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]`, "setup")
	c.awaitTaken(t, o, taking{".spec.replicas", "flux", "kube-controller-manager (scale)", autoscaler})
	if err := c.Resource(autoscalers).Namespace("autoscaled").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.reported()
	c.apply(t, deployments, web("autoscaled", "1"), "flux")
	want := "Deployment/autoscaled/web: .spec.replicas taken from kube-controller-manager (scale) by flux"
	if diff := cmp.Diff([]string{want}, c.reported()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	c.awaitTaken(t, o, taking{".spec.replicas", "kube-controller-manager (scale)", "flux", "kubernetes-admin"})
}

// Edge case 71, by hand: a user who scales, and a user who takes the field back by force, get
// warnings and are recorded by name.
func TestKubectlScale(t *testing.T) {
	c := newClient(t, "")
	c.namespace(t, "scaled")
	alice := newClient(t, "alice")
	o := alice.apply(t, deployments, web("scaled", "1"), "flux")
	scale := []string{"scale", "deployment/web", "--namespace", "scaled", "--replicas=2"}
	// The former owners come from the watch. If that lags behind, there is no warning. A dry run
	// has the same warnings as the write.
	eventually(t, "warned", func() bool {
		return strings.Contains(c.kubectl(t, append(scale, "--dry-run=server")...), "Warning: Deployment/scaled/web: .spec.replicas taken from flux by your client (scale)")
	})
	c.kubectl(t, scale...)
	c.awaitTaken(t, o, taking{".spec.replicas", "flux", "kubectl (scale)", "kubernetes-admin"})
	alice.apply(t, deployments, web("scaled", "3"), "argo")
	if diff := cmp.Diff([]string{"Deployment/scaled/web: .spec.replicas taken from kubectl (scale) by argo"}, alice.reported()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	c.awaitTaken(t, o, taking{".spec.replicas", "kubectl (scale)", "argo", "alice"})
}
