package stories_test

import (
	"strings"
	"testing"
)

// Story 3, continued: a record that several Pods write stays until the last of them removes its
// part, however often the record is applied in between.
func TestRecordOfSeveralPods(t *testing.T) {
	l := newInnerLoop(t, "record")
	record := func(rest string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: record, namespace: " + l.ns + rest + "}}"
	}
	l.call(t, 0, record(", labels: {round: one}"), "apply", "-f", "-")
	uids := map[string]string{}
	for _, pod := range []string{"first", "last"} {
		kubectl(t, l.Cluster, "", "run", pod, "-n", l.ns, "--image=registry.example/"+pod+":1.0.0")
		uids[pod] = kubectl(t, l.Cluster, "", "get", "pod", pod, "-n", l.ns, "-o", "jsonpath={.metadata.uid}")
		kubectl(t, l.Cluster, record(", ownerReferences: [{apiVersion: v1, kind: Pod, name: "+pod+", uid: "+uids[pod]+"}]"),
			"apply", "--server-side", "--field-manager="+pod, "-f", "-")
	}

	// The record is applied again, changed and unchanged: the Pods' values stay.
	next := record(", labels: {round: two}")
	says(t, l.call(t, 0, next, "apply", "-f", "-").stdout.String(), "configured")
	says(t, l.call(t, 0, next, "apply", "-f", "-").stdout.String(), "unchanged")
	keepers := func() string {
		return kubectl(t, l.Cluster, "", "get", "configmap", "record", "-n", l.ns, "--ignore-not-found", "-o", "jsonpath={.metadata.ownerReferences[*].name}")
	}
	if got := keepers(); got != "first last" {
		t.Fatalf("the owner references are %q, want first last", got)
	}
	says(t, l.call(t, 0, "", "owners", "configmap/record").stdout.String(), "first")

	// One Pod leaves, and the record stays; when the other leaves, the record is deleted.
	kubectl(t, l.Cluster, "", "delete", "pod", "first", "-n", l.ns, "--grace-period=0", "--force")
	until(t, "the record is kept by the last alone", func() bool { return strings.TrimSpace(keepers()) == "last" }, keepers)
	l.call(t, 0, next, "apply", "-f", "-")
	kubectl(t, l.Cluster, "", "delete", "pod", "last", "-n", l.ns, "--grace-period=0", "--force")
	l.call(t, 0, "", "wait", "configmap/record", "--for=delete", "--timeout=5m")
}
