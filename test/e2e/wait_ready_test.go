package e2e_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Edge case 47: a condition that was true of an earlier generation.
func TestWaitStaleCondition(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	name := waitedObject(t, c, newWidgets(t, c, ns), ns, "a")
	ready := func(status int) *e2etest.Run {
		t.Helper()
		return e2etest.Plugin(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").Ends(t, status)
	}
	setStatus(t, c, ns, name, `{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}`)
	ready(0)
	e2etest.Kubectl(t, c, "patch", name, "-n", ns, "--type=merge", "-p", `{"spec":{"size":2}}`)
	ready(1).Says(t, "generation")
	setStatus(t, c, ns, name, `{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True"}]}`)
	ready(0)
}

// Edge case 48: a custom resource without a status is not ready if its kind has one.
func TestWaitResourceWithoutStatus(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	name := waitedObject(t, c, newWidgets(t, c, ns), ns, "a")
	e2etest.Plugin(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").Ends(t, 1).Says(t, "timeout")
	setStatus(t, c, ns, name, `{"conditions":[{"type":"Ready","status":"True"}]}`)
	e2etest.Plugin(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=1m").Ends(t, 0)
}

// A CRD's annotations define its kind's readiness rule. A formula that does not compile is an error
// that names the annotation.
func TestWaitByAnnotationsOfTheDefinition(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	group := newWidgets(t, c, ns)
	name := waitedObject(t, c, group, ns, "a")
	setStatus(t, c, ns, name, `{"phase":"Gesundheit"}`)
	definition := "customresourcedefinition/widgets." + group
	e2etest.Plugin(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").Ends(t, 1).Says(t, "phase is Gesundheit")
	e2etest.Kubectl(t, c, "annotate", definition, "k8sconnect.io/ready=self.status.phase == 'Gesundheit'")
	e2etest.Plugin(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, "wait", "--explain-ready", "widgets."+group).Ends(t, 0).
		Says(t, "self.status.phase == 'Gesundheit'").Says(t, "annotations of customresourcedefinition widgets."+group)
	e2etest.Kubectl(t, c, "annotate", "--overwrite", definition, "k8sconnect.io/ready=self.status.(")
	e2etest.Plugin(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").Ends(t, 2).Says(t, "annotation k8sconnect.io/ready")
}
