package companion_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// "Who changed replicas yesterday, and from what?" A user with the role view in the namespace finds
// each change, the newest first, with its user and its values: by kubectl scale, by kubectl set
// image, and by an update of another manager. No other value is in any record.
func TestHistoryShowsUsersAndValues(t *testing.T) {
	c := newClient(t, "")
	c.namespace(t, "valued")
	c.kubectl(t, "create", "rolebinding", "view", "-n", "valued", "--clusterrole=view", "--user=ada")
	web := c.apply(t, deployments, web("valued", "1"), "flux")
	c.kubectl(t, "scale", "deployment/web", "-n", "valued", "--replicas=2")
	c.awaitTaken(t, web, taking{".spec.replicas", "flux", "kubectl (scale)", "kubernetes-admin"})
	c.kubectl(t, "set", "image", "deployment/web", "-n", "valued", "app=registry.example/web:2")
	const image = `.spec.template.spec.containers[name="app"].image`
	c.awaitTaken(t, web, taking{image, "flux", "kubectl-set", "kubernetes-admin"})
	patch := types.StrategicMergePatchType
	_, err := newClient(t, "operator").Resource(deployments).Namespace("valued").Patch(t.Context(), "web", patch, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{FieldManager: "keda"})
	if err != nil {
		t.Fatal(err)
	}
	c.awaitTaken(t, web, taking{".spec.replicas", "kubectl (scale)", "keda", "operator"})
	config := c.apply(t, configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: valued}, data: {replicas: '12345'}}", "argo")
	c.apply(t, configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: valued}, data: {replicas: '67890'}}", "flux")
	c.awaitTaken(t, config, taking{".data.replicas", "argo", "flux", "kubernetes-admin"})

	var message string
	eventually(t, "the role is in force", func() bool {
		var status int
		message, status = c.owners(t, "-n", "valued", "--history", "--since=24h", "--as=ada")
		return status == 0
	})
	var times []string
	var changes strings.Builder
	for line := range strings.Lines(message) {
		words := strings.Fields(line)
		if len(words) > 0 && strings.HasPrefix(words[0], "2") && strings.HasSuffix(words[0], "Z") {
			times = append(times, words[0])
			changes.WriteString(strings.Join(words[1:], " ") + "\n")
		}
	}
	for _, line := range []string{
		"configmap/a -n valued .data.replicas argo (Apply) flux (Apply) kubernetes-admin taken by force\n",
		"deployment.apps/web -n valued .spec.replicas kubectl (scale) keda (Update) operator taken, from 2 to 4\n",
		"deployment.apps/web -n valued " + image + " flux (Apply) kubectl-set (Update) kubernetes-admin taken, from registry.example/web:1 to registry.example/web:2\n",
		"deployment.apps/web -n valued .spec.replicas flux (Apply) kubectl (scale) kubernetes-admin taken, from 1 to 2\n",
	} {
		if !strings.Contains(changes.String(), line) {
			t.Errorf("no line %sin:\n%s", line, message)
		}
	}
	if !slices.IsSortedFunc(times, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("the newest change is not first:\n%s", message)
	}
	if _, status := c.owners(t, "-n", "k8sconnect", "--history", "--as=ada"); status != 2 {
		t.Errorf("status %d in a namespace that the user may not view, want 2", status)
	}
	text, err := json.Marshal(c.record(t, config))
	if err != nil || strings.Contains(string(text), "12345") || strings.Contains(string(text), "67890") {
		t.Errorf("a value of a ConfigMap is recorded: %s, %v", text, err)
	}
}
