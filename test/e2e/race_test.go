package e2e_test

import (
	"strings"
	"testing"
)

// A conflict that arises after the phase's check is reported as a conflict, and the run does not
// write the object.
func TestConflictAfterTheCheck(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(3, 1, "1"))).ends(t, 0)

	before(p, writes("/api/v1/namespaces/"+ns+"/configmaps/"), func() {
		kubectl(t, c, "patch", "configmap/cm-0001", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	})
	r := k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(3, 1, "2")), "-o", "json").ends(t, 1)
	out := r.report(t)
	if out.Summary["conflict"] != 1 || out.Summary["configured"] != 2 {
		t.Fatalf("summary %v: %s", out.Summary, r)
	}
	conflict := out.Objects[1]
	if conflict.Name != "cm-0001" || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Path != ".data.value" ||
		len(conflict.Conflicts[0].Owners) != 1 || conflict.Conflicts[0].Owners[0].Manager != "alice" {
		t.Errorf("%+v", conflict)
	}
	if got := value(t, c, ns, "cm-0001"); got != "alice" {
		t.Errorf("the value is %q, want alice", got)
	}
}

// The run takes only fields that were checked: if another client changes the object before the
// write, it is checked again, and a field without a decision is not taken.
func TestTakeChecksAgain(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(1, 1, "1"))).ends(t, 0)
	kubectl(t, c, "patch", "configmap/cm-0000", "-n", ns, "--field-manager=bob", "-p", `{"data":{"value":"bob"}}`)

	before(p, writes("/api/v1/namespaces/"+ns+"/configmaps/"), func() {
		kubectl(t, c, "patch", "configmap/cm-0000", "-n", ns, "--field-manager=alice", "-p", `{"data":{"pad":"alice"}}`)
	})
	set := file(t, configMaps(1, 1, "2"))
	r := k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set, "--take=.data.value").ends(t, 1)
	if out := r.stdout.String(); !strings.Contains(out, ".data.pad") || strings.Contains(out, ".data.value") || !strings.Contains(out, "alice") {
		t.Error(r)
	}
	if got := value(t, c, ns, "cm-0000"); got != "bob" {
		t.Errorf("the value is %q, want bob", got)
	}

	// A change that causes no conflict, such as a controller's, does not prevent the run from
	// taking fields.
	p.Heal()
	before(p, writes("/api/v1/namespaces/"+ns+"/configmaps/"), func() {
		kubectl(t, c, "label", "configmap/cm-0000", "-n", ns, "busy=yes")
	})
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set, "--take=all").ends(t, 0).says(t, "1 configured")
	if got := value(t, c, ns, "cm-0000"); got != "2" {
		t.Errorf("the value is %q, want 2", got)
	}
}

// An object that was deleted between the check and the write is created.
func TestDeletedAfterTheCheck(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(1, 1, "1"))).ends(t, 0)
	before(p, writes("/api/v1/namespaces/"+ns+"/configmaps/"), func() {
		kubectl(t, c, "delete", "configmap/cm-0000", "-n", ns)
	})
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(1, 1, "2"))).ends(t, 0)
	if got := value(t, c, ns, "cm-0000"); got != "2" {
		t.Errorf("the value is %q, want 2", got)
	}
}
