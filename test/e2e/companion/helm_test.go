package companion_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
)

// Helm overwrites a change made with kubectl. It gets and prints a warning, with each way of
// writing; there is no warning about the chart's other object.
func TestHelmUpgrade(t *testing.T) {
	for name, flags := range map[string][]string{
		"server": {"--server-side=true", "--force-conflicts"},
		"client": {"--server-side=false"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, "")
			release := "pair-" + name
			c.namespace(t, release)
			h := chart.NewHelm(t, c.KubeconfigPath)
			in := []string{release, "testdata/pair", "--namespace", release}
			h.Run(t, append([]string{"install", flags[0]}, in...)...)
			c.kubectl(t, "patch", "configmap", release, "--namespace", release, "--patch", `{"data":{"level":"debug"}}`)
			o, err := c.Resource(configMaps).Namespace(release).Get(t.Context(), release, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c.awaitTaken(t, o, taking{".data.level", "helm", "kubectl-patch", "kubernetes-admin"})
			message := h.Stderr(t, append(append([]string{"upgrade", "--set", "level=warn,replicas=2"}, flags...), in...)...)
			want := "ConfigMap/" + release + "/" + release + ": .data.level taken from kubectl-patch by helm"
			if strings.Count(message, want) != 1 || strings.Count(message, "taken from") != 1 {
				t.Errorf("output of Helm is\n%s\nwant only one warning of a takeover:\n%s", message, want)
			}
			c.awaitTaken(t, o, taking{".data.level", "kubectl-patch", "helm", "kubernetes-admin"})
		})
	}
}
