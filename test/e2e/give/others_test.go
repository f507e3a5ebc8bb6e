package give_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// give, and a move, name the objects of other tools before the first write reaches the server.
// --others=refuse refuses them without a write.
func TestOtherToolsAreNamedBeforeTheFirstWrite(t *testing.T) {
	s := newSite(t, "named-before")
	h := chart.NewHelm(t, s.KubeconfigPath)
	text := strings.ReplaceAll(stays, "NAME", "x")
	h.Run(t, "install", "old", folder(t, s, text+moved), "-n", s.namespace)
	s.update(t, configMaps, "moves", "argocd-controller", `{"metadata": {"annotations": {"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:named-before/moves"}}}`)
	for _, name := range []string{"one", "two"} {
		s.apply(t, "helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, annotations: {meta.helm.sh/release-name: old, meta.helm.sh/release-namespace: named-before}}, data: {a: "1"}}`)
	}
	s.apply(t, "helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: free}, data: {a: "1"}}`)

	give := []string{"give", "cm/free", "cm/one", "cm/two", ".data.a", "--from=helm", "--to=operator", "--as-operation=update"}
	move := []string{"give", "cm/moves", "--from-release=named-before/old", "--to-release=named-before/next", "--allow-new"}
	refused := "it belongs to Argo CD Application shop (argocd.argoproj.io/tracking-id), and --others=refuse applies"
	if status, out, writes := s.untilFirstWrite(t, append(move, "--others=refuse")...); status != 1 || writes != 0 || !strings.Contains(unfolded(out), refused) {
		t.Errorf("a refused move: exit status %d, %d writes:\n%s", status, writes, out)
	}
	refused = "it belongs to Helm release named-before/old (meta.helm.sh/release-name), and --others=refuse applies"
	if status, out, writes := s.untilFirstWrite(t, "give", "cm/one", "cm/two", ".data.a", "--from=helm", "--to=operator", "--as-operation=update", "--others=refuse"); status != 1 || writes != 0 || !strings.Contains(unfolded(out), refused) {
		t.Errorf("a refused give: exit status %d, %d writes:\n%s", status, writes, out)
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"give": {give, "2 objects belong to Helm release named-before/old (configmap/one -n named-before, configmap/two -n named-before): its next upgrade will conflict in 2 fields"},
		"move": {move, "configmap/moves -n named-before belongs to Argo CD Application shop: the move leaves its marks, and its next sync still applies it"},
	} {
		status, out, writes := s.untilFirstWrite(t, tt.args...)
		if status != 0 || writes == 0 || strings.Count(unfolded(out), tt.want) != 1 {
			t.Errorf("%s: exit status %d, %d writes; before the first write, %q was not printed once:\n%s", name, status, writes, tt.want, out)
		}
	}
}

func unfolded(text string) string { return strings.Join(strings.Fields(text), " ") }

// untilFirstWrite runs the plugin, and returns its output from before the first write, or the whole
// output if there was none.
func (s *site) untilFirstWrite(t *testing.T, args ...string) (status int, out string, writes int) {
	t.Helper()
	p, kubeconfig := s.proxied(t)
	text := &transcript{}
	p.Fail(-1, func(r *http.Request) bool {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.RawQuery, "dryRun") {
			text.onWrite()
		}
		return false
	}, proxy.Fault{})
	args = append([]string{"kubectl-k8sconnect"}, append(args, "--kubeconfig="+kubeconfig, "--cache-dir="+t.TempDir(), "-n", s.namespace)...)
	status = cli.Main(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: text, ErrOut: text})
	out, writes = text.beforeWrites()
	return status, out, writes
}

// transcript is the output of a run, with the place of the first write.
type transcript struct {
	mu     sync.Mutex
	text   bytes.Buffer
	writes int
	first  int
}

func (b *transcript) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *transcript) onWrite() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.writes++; b.writes == 1 {
		b.first = b.text.Len()
	}
}

func (b *transcript) beforeWrites() (string, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.writes == 0 {
		return b.text.String(), 0
	}
	return b.text.String()[:b.first], b.writes
}
