package webhook_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
)


// Whoever takes a path is told at once, whichever client they write with.
func TestTakeover(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.admin.must(t, "v1", "Namespace", `metadata: {name: takeover}`)
	_, said := kubectl(t, r.Cluster, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: takeover}, data: {k: "1"}}`,
		"apply", "--server-side", "-f", "-", "--field-manager=flux")
	if said != "" {
		t.Errorf("a create says %q", said)
	}
	_, said = kubectl(t, r.Cluster, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: takeover}, data: {k: "2"}}`,
		"apply", "--server-side", "-f", "-", "--force-conflicts")
	want := "Warning: ConfigMap/takeover/a: .data.k taken from flux by kubectl\n"
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("kubectl says (-want +got):\n%s", diff)
	}
}
