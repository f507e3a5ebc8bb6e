package confirm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A plan that creates a namespace and a CRD creates objects in them that the server could not check at the
// review. A run that was cut after the namespace or the CRD can be finished, although the server's answer has
// defaults, other spellings and data instead of stringData now. Another manifest cannot. A value of a Secret
// that is also the name of an object, whose kind is not served at the review, is masked at neither time.
func TestConfirmFinishesUnchecked(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	const all = `apiVersion: v1
kind: Namespace
metadata: {name: NS}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.NS.example.com}
spec:
  group: NS.example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 1}, name: {type: string}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plain, namespace: NS}
data: {k: "1", uses: the-first-of-the-gadgets}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: NS}
stringData: {k: secret-value, uses: the-first-of-the-gadgets}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "registry.example/web:1", resources: {requests: {cpu: 1000m}}}]}
---
apiVersion: NS.example.com/v1
kind: Gadget
metadata: {name: the-first-of-the-gadgets, namespace: NS}
spec: {name: a}
`
	for name, done := range map[string]int{"the namespace": 1, "the namespace and the CRD": 2, "all but the last two": 4, "all but the last": 5, "all": 6} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := e2etest.Namespace(t, c) + "-new"
			t.Cleanup(func() {
				_ = e2etest.KubectlCommand(t, c, "delete", "namespace/"+ns, "crd/gadgets."+ns+".example.com", "--ignore-not-found", "--wait=false").Run()
			})
			text := strings.ReplaceAll(all, "NS", ns)
			set, plan := e2etest.File(t, text), filepath.Join(t.TempDir(), "plan.json")
			diff := e2etest.Plugin(t, c.KubeconfigPath, "diff", "-f", set, "-o", "json").Ends(t, 1)
			if err := os.WriteFile(plan, []byte(diff.Stdout.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			first := strings.Join(strings.Split(text, "---\n")[:done], "---\n")
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", e2etest.File(t, first)).Ends(t, 0)
			if done < 4 {
				for _, change := range [][2]string{{`k: "1"`, `k: "2"`}, {"secret-value", "another-one"}, {"cpu: 1000m", "cpu: 2000m"}} {
					other := e2etest.File(t, strings.Replace(text, change[0], change[1], 1))
					e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", other, "--confirm="+plan).Ends(t, 1).Says(t, "nothing was written")
				}
			}
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", set, "--confirm="+plan).Ends(t, 0)
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", set, "--confirm="+plan).Ends(t, 0).Says(t, "nothing is left to do")
			e2etest.Plugin(t, c.KubeconfigPath, "diff", "-f", set).Ends(t, 0)
		})
	}
}
