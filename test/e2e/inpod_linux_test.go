package e2e_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// In a Pod without a kubeconfig, the plugin uses the Pod's account, also with flags for the connection
// (kubernetes/kubernetes#122532). The account's files have fixed paths, so the test mounts its own /var/run.
func TestInPod(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "configmap", "it", "-n", ns, "--from-literal=a=b")
	e2etest.Kubectl(t, c, "create", "serviceaccount", "ci", "-n", ns)
	e2etest.Kubectl(t, c, "create", "rolebinding", "ci", "-n", ns, "--clusterrole=admin", "--serviceaccount="+ns+":ci")
	config, err := clientcmd.BuildConfigFromFlags("", c.KubeconfigPath)
	if err == nil {
		err = rest.LoadTLSFiles(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	account := t.TempDir()
	for name, text := range map[string]string{"token": e2etest.Kubectl(t, c, "create", "token", "ci", "-n", ns), "ca.crt": string(config.CAData), "namespace": ns} {
		if err := os.WriteFile(filepath.Join(account, name), []byte(strings.TrimSpace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inPod := func(command ...string) (string, error) {
		const mounted = `set -e; folder=$(readlink -f /var/run); mount -t tmpfs none "$folder"
			mkdir -p "$folder/secrets/kubernetes.io"; cp -r "$ACCOUNT" "$folder/secrets/kubernetes.io/serviceaccount"; exec "$@"`
		cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--user", "--map-root-user", "--mount", "sh", "-c", mounted, "sh"}, command...)...)
		cmd.Env = append(os.Environ(), "ACCOUNT="+account, "KUBECONFIG=", "HOME="+account,
			"KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port())
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := inPod("true"); err != nil {
		t.Skipf("this machine does not allow mount namespaces: %v: %s", err, out)
	}
	for _, flags := range [][]string{nil, {"--request-timeout=30s"}, {"-n", ns, "--request-timeout=30s"}} {
		out, err := inPod(append([]string{"kubectl-k8sconnect", "owners", "cm/it", "--path=.data"}, flags...)...)
		if err != nil || !strings.Contains(out, "configmap/it -n "+ns) {
			t.Errorf("%v: %v: %s", flags, err, out)
		}
	}
	// The account may not impersonate: the server sees the flag.
	out, err := inPod("kubectl-k8sconnect", "owners", "cm/it", "--as=someone")
	if err == nil || !strings.Contains(out, "cannot impersonate") {
		t.Errorf("--as: %v: %s", err, out)
	}
}
