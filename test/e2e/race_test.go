package e2e_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A conflict that arises after the phase's check is reported as a conflict, and the run does not
// write the object.
func TestConflictAfterTheCheck(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(3, 1, "1"))).Ends(t, 0)

	e2etest.Before(p, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), func() {
		e2etest.Kubectl(t, c, "patch", "configmap/cm-0001", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	})
	r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(3, 1, "2")), "-o", "json").Ends(t, 1)
	out := r.Report(t)
	if out.Summary["conflict"] != 1 || out.Summary["configured"] != 2 {
		t.Fatalf("summary %v: %s", out.Summary, r)
	}
	conflict := out.Objects[1]
	if conflict.Name != "cm-0001" || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Path != ".data.value" ||
		len(conflict.Conflicts[0].Owners) != 1 || conflict.Conflicts[0].Owners[0].Manager != "alice" {
		t.Errorf("%+v", conflict)
	}
	if got := e2etest.ValueOf(t, c, ns, "cm-0001"); got != "alice" {
		t.Errorf("the value is %q, want alice", got)
	}
}

// The run takes only fields that were checked: if another client changes the object before the
// write, it is checked again, and a field without a decision is not taken.
func TestTakeChecksAgain(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "1"))).Ends(t, 0)
	e2etest.Kubectl(t, c, "patch", "configmap/cm-0000", "-n", ns, "--field-manager=bob", "-p", `{"data":{"value":"bob"}}`)

	e2etest.Before(p, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), func() {
		e2etest.Kubectl(t, c, "patch", "configmap/cm-0000", "-n", ns, "--field-manager=alice", "-p", `{"data":{"pad":"alice"}}`)
	})
	set := e2etest.File(t, e2etest.ConfigMaps(1, 1, "2"))
	r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--take=.data.value").Ends(t, 1)
	if out := r.Stdout.String(); !strings.Contains(out, ".data.pad") || strings.Contains(out, ".data.value") || !strings.Contains(out, "alice") {
		t.Error(r)
	}
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "bob" {
		t.Errorf("the value is %q, want bob", got)
	}

	// A change that causes no conflict, such as a controller's, does not prevent the run from
	// taking fields.
	p.Heal()
	e2etest.Before(p, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), func() {
		e2etest.Kubectl(t, c, "label", "configmap/cm-0000", "-n", ns, "busy=yes")
	})
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--take=all").Ends(t, 0).Says(t, "1 configured")
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "2" {
		t.Errorf("the value is %q, want 2", got)
	}
}

// An object that was deleted between the check and the write is created.
func TestDeletedAfterTheCheck(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "1"))).Ends(t, 0)
	e2etest.Before(p, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), func() {
		e2etest.Kubectl(t, c, "delete", "configmap/cm-0000", "-n", ns)
	})
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "2"))).Ends(t, 0)
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "2" {
		t.Errorf("the value is %q, want 2", got)
	}
}
