package confirm_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// twoVersions is a CRD of a group with two versions. Each is served or not, and one of them is stored.
const twoVersions = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - &v
    name: v1
    served: SERVED1
    storage: STORED1
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
  - {<<: *v, name: v2, served: SERVED2, storage: STORED2}
`

// The versions of a kind can change between the diff and the run. Then the plan is applied as reviewed, or
// nothing is written.
func TestConfirmOtherVersions(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	for name, tt := range map[string]struct {
		before, after [4]string
		ends          int
	}{
		"a version comes":         {[4]string{"true", "true", "false", "false"}, [4]string{"true", "true", "true", "false"}, 0},
		"a version goes":          {[4]string{"true", "true", "true", "false"}, [4]string{"true", "true", "false", "false"}, 0},
		"the stored version":      {[4]string{"true", "true", "true", "false"}, [4]string{"true", "false", "true", "true"}, 0},
		"the used version goes":   {[4]string{"true", "true", "true", "false"}, [4]string{"false", "false", "true", "true"}, 2},
		"the only version is new": {[4]string{"true", "true", "false", "false"}, [4]string{"false", "false", "true", "true"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := e2etest.Namespace(t, c)
			group := ns + ".example.com"
			t.Cleanup(func() { _ = e2etest.KubectlCommand(t, c, "delete", "crd", "widgets."+group, "--wait=false").Run() })
			crd := func(v [4]string) string {
				return e2etest.File(t, strings.NewReplacer("GROUP", group, "SERVED1", v[0], "STORED1", v[1], "SERVED2", v[2], "STORED2", v[3]).Replace(twoVersions))
			}
			objects := func(size string) string {
				return e2etest.File(t, strings.NewReplacer("GROUP", group, "SIZE", size).Replace(
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: \"SIZE\"}}\n---\n{apiVersion: GROUP/v1, kind: Widget, metadata: {name: w}, spec: {size: SIZE}}\n"))
			}
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", crd(tt.before), "--wait").Ends(t, 0)
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", objects("1"), "--await-kinds=1m").Ends(t, 0)
			set := []string{"-n", ns, "-f", objects("2")}
			confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", crd(tt.after), "--wait").Ends(t, 0)
			e2etest.Until(t, "the versions are served", func() bool {
				served := func(version string) string {
					if e2etest.KubectlCommand(t, c, "get", "--raw", "/apis/"+group+"/"+version+"/namespaces/"+ns+"/widgets").Run() != nil {
						return "false"
					}
					return "true"
				}
				return served("v1") == tt.after[0] && served("v2") == tt.after[2]
			})
			r := e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, tt.ends)
			value := e2etest.Kubectl(t, c, "get", "configmap/a", "-n", ns, "-o", "jsonpath={.data.k}")
			if want := map[bool]string{true: "2", false: "1"}[tt.ends == 0]; value != want {
				t.Errorf("the value is %s, want %s: %s", value, want, r)
			}
			if tt.ends != 0 {
				r.Says(t, "nothing was written")
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", crd(tt.before), "--wait").Ends(t, 0)
				e2etest.Until(t, "the former version is served", func() bool {
					return e2etest.KubectlCommand(t, c, "get", "--raw", "/apis/"+group+"/v1/namespaces/"+ns+"/widgets").Run() == nil
				})
				e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0)
			}
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
		})
	}
}
