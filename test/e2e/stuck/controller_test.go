package stuck_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// All verbs name the same controller: wait for an object that does not become ready, and delete and
// stuck for the same object when it is not removed.
func TestStuckWaitAndDeleteNameOneController(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	for name, clue := range map[string]struct{ definition, deployment, rights string }{
		"label":  {definition: "labels: {app.kubernetes.io/name: widgets}, ", deployment: "labels: {app.kubernetes.io/name: widgets}, "},
		"rights": {rights: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := e2etest.Namespace(t, c)
			group := ns + ".example.com"
			definition := strings.Replace(widgets(group), "schema:", "subresources: {status: {}}, schema:", 1)
			definition = strings.Replace(definition, "metadata: {name", "metadata: {"+clue.definition+"name", 1)
			applied(t, c, ns, definition+widget(group, "one", group+"/cleanup")+fmt.Sprintf(`---
apiVersion: v1
kind: ServiceAccount
metadata: {name: anybody}
---
apiVersion: apps/v1
kind: Deployment
metadata: {%sname: anything}
spec:
  replicas: 0
  selector: {matchLabels: {app: anything}}
  template:
    metadata: {labels: {app: anything}}
    spec: {serviceAccountName: anybody, containers: [{name: manager, image: example.com/manager:1}]}
`, clue.deployment))
			if clue.rights != "" {
				e2etest.Kubectl(t, c, "create", "clusterrole", ns, "--verb=update", "--resource=widgets."+group+",widgets."+group+"/finalizers")
				e2etest.Kubectl(t, c, "create", "clusterrolebinding", ns, "--clusterrole="+ns, "--serviceaccount="+ns+":anybody")
			}
			object, controller := "widgets."+group+"/one", "deployment.apps/anything -n "+ns+", is scaled to zero"
			e2etest.Plugin(t, c.KubeconfigPath, "wait", object, "-n", ns, "--for=condition=Ready", "--timeout=2s").Ends(t, 1).Says(t, controller)
			e2etest.Plugin(t, c.KubeconfigPath, "delete", object, "-n", ns, "--stuck-after=1s", "--timeout=5s").Ends(t, 1).Says(t, controller)
			e2etest.Plugin(t, c.KubeconfigPath, "stuck", object, "-n", ns).Ends(t, 1).Says(t, controller)
			letGoOf(t, c, object, "-n", ns)
			e2etest.Kubectl(t, c, "delete", "--ignore-not-found", "crd/widgets."+group, "clusterrole/"+ns, "clusterrolebinding/"+ns)
		})
	}
}
