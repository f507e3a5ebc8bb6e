package e2e_test

import "testing"

// Edge case 47: a condition that was true of an earlier generation.
func TestWaitStaleCondition(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	name := waitedObject(t, c, newWidgets(t, c, ns), ns, "a")
	ready := func(status int) *run {
		t.Helper()
		return k8sconnect(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").ends(t, status)
	}
	setStatus(t, c, ns, name, `{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}`)
	ready(0)
	kubectl(t, c, "patch", name, "-n", ns, "--type=merge", "-p", `{"spec":{"size":2}}`)
	ready(1).says(t, "generation")
	setStatus(t, c, ns, name, `{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True"}]}`)
	ready(0)
}

// Edge case 48: a custom resource without a status is not ready if its kind has one.
func TestWaitResourceWithoutStatus(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	name := waitedObject(t, c, newWidgets(t, c, ns), ns, "a")
	k8sconnect(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").ends(t, 1).says(t, "timeout")
	setStatus(t, c, ns, name, `{"conditions":[{"type":"Ready","status":"True"}]}`)
	k8sconnect(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=1m").ends(t, 0)
}

// A CRD's annotations define its kind's readiness rule. A formula that does not compile is an error
// that names the annotation.
func TestWaitByAnnotationsOfTheDefinition(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	group := newWidgets(t, c, ns)
	name := waitedObject(t, c, group, ns, "a")
	setStatus(t, c, ns, name, `{"phase":"Gesundheit"}`)
	definition := "customresourcedefinition/widgets." + group
	k8sconnect(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").ends(t, 1).says(t, "phase is Gesundheit")
	kubectl(t, c, "annotate", definition, "k8sconnect.io/ready=self.status.phase == 'Gesundheit'")
	k8sconnect(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").ends(t, 0)
	k8sconnect(t, c.KubeconfigPath, "wait", "--explain-ready", "widgets."+group).ends(t, 0).
		says(t, "self.status.phase == 'Gesundheit'").says(t, "annotations of customresourcedefinition widgets."+group)
	kubectl(t, c, "annotate", "--overwrite", definition, "k8sconnect.io/ready=self.status.(")
	k8sconnect(t, c.KubeconfigPath, "wait", name, "-n", ns, "--timeout=0").ends(t, 2).says(t, "annotation k8sconnect.io/ready")
}
