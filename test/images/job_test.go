package images

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// checkJob acts as the pod in docs/air-gapped.md: the plugin in its image, without a kubeconfig,
// applies as the pod's service account, into the pod's namespace.
func checkJob(t *testing.T, dist string) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("only root may change the root folder")
	}
	c := cluster.ForTest(t, cluster.Options{})
	c.OwnOnly(t)
	kubectl := func(args ...string) string {
		return strings.TrimSpace(run(t, "", c.Binary("kubectl"), append([]string{"--kubeconfig", c.KubeconfigPath}, args...)...))
	}
	kubectl("create", "namespace", "shop")
	kubectl("create", "serviceaccount", "robot", "-n", "shop")
	kubectl("create", "rolebinding", "robot", "-n", "shop", "--clusterrole=cluster-admin", "--serviceaccount=shop:robot")
	config, err := clientcmd.BuildConfigFromFlags("", c.KubeconfigPath)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	fs := t.TempDir()
	img := openLayout(t, filepath.Join(dist, "images", "kubectl-k8sconnect")).images["linux/"+runtime.GOARCH]
	img.unpack(t, fs)
	if err := os.Chown(filepath.Join(fs, "home/nonroot"), 65532, 65532); err != nil { // as in the layer
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		"var/run/secrets/kubernetes.io/serviceaccount/token":     kubectl("create", "token", "robot", "-n", "shop"),
		"var/run/secrets/kubernetes.io/serviceaccount/namespace": "shop",
		"var/run/secrets/kubernetes.io/serviceaccount/ca.crt":    string(config.CAData),
		"manifests/web.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}",
	} {
		if err := write(filepath.Join(fs, path), strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := inImage(t, fs, img.config.Config.Entrypoint[0], "apply", "-f", "/manifests", "-o", "json")
	cmd.Env = append(img.config.Config.Env, "KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port())
	out, err := cmd.Output()
	if err != nil {
		var complaint []byte
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			complaint = exit.Stderr
		}
		t.Fatalf("%v\n%s%s", err, out, complaint)
	}
	if !json.Valid(out) {
		t.Errorf("%s", out)
	}
	if got := kubectl("get", "configmap", "web", "-n", "shop", "-o", "jsonpath={.data.a}"); got != "b" {
		t.Errorf("the ConfigMap has %q, want b", got)
	}
	// The discovery cache is in a folder that the image's user can write to.
	if _, err := os.Stat(filepath.Join(fs, "home/nonroot/.kube/cache")); err != nil {
		t.Error(err)
	}
}
