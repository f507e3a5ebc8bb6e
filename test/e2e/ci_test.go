package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// The scripts of the CI examples run in order, in a clone of a repository, with an account that has
// only the roles that apply -o role prints: they show the change and apply it. If the cluster changes
// after the plan, the apply is refused.
func TestCIExamples(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	for name, want := range map[string]int{"gitlab": 4, "argo-workflows": 2, "tekton": 1} {
		for _, changed := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " after a change"}[changed], func(t *testing.T) {
				ns := e2etest.Namespace(t, c)
				job := pipeline(t, c, ns)
				scripts := scriptsOf(t, filepath.Join("..", "..", "docs", "examples", "ci", name+".yaml"))
				if len(scripts) != want {
					t.Fatalf("%d scripts, want %d: %q", len(scripts), want, scripts)
				}
				for _, script := range scripts {
					apply := strings.Contains(script, "k8sconnect apply")
					if apply && changed {
						e2etest.Kubectl(t, c, "patch", "configmap/settings", "-n", ns, "--field-manager=hotfix", "-p", `{"data":{"mode":"off"}}`)
					}
					out, err := job.run(t, script)
					refused := strings.Contains(out, "nothing was written: ")
					if refused != (apply && changed) || (err != nil) != refused && !strings.Contains(script, "junit > diff.xml") {
						t.Fatalf("%v: %s\n%s", err, script, out)
					}
					if refused {
						return
					}
				}
				if got := e2etest.Kubectl(t, c, "get", "configmap/settings", "-n", ns, "-o", "jsonpath={.data.mode}"); got != "fast" {
					t.Errorf("the value is %s, want fast", got)
				}
			})
		}
	}
}

// scriptsOf returns an example's scripts that call the plugin, in order.
func scriptsOf(t *testing.T, path string) (scripts []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var see func(n *yaml.Node)
	see = func(n *yaml.Node) {
		for i, child := range n.Content {
			key := ""
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				key = n.Content[i-1].Value
			}
			script := child.Value
			if child.Kind == yaml.SequenceNode && key == "script" {
				for _, line := range child.Content {
					script += line.Value + "\n"
				}
			}
			if slices.Contains([]string{"run", "script", "source"}, key) && strings.Contains(script, "kubectl k8sconnect") {
				scripts = append(scripts, script)
				continue
			}
			see(child)
		}
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	for decoder.Decode(&document) == nil {
		see(&document)
		document = yaml.Node{}
	}
	return scripts
}

// workspace is a pipeline's environment: a clone with one changed value, and a runner's programs.
type workspace struct {
	dir string
	env []string
}

func pipeline(t *testing.T, c *cluster.Cluster, ns string) workspace {
	t.Helper()
	w := workspace{dir: t.TempDir()}
	put := func(name, text string) {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: NS}\ndata: {mode: slow}\n"
	put("shop/settings.yaml", strings.Replace(settings, "NS", ns, 1))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", filepath.Join(w.dir, "shop")).Ends(t, 0)
	put("shop/settings.yaml", strings.NewReplacer("NS", ns, "slow", "fast").Replace(settings))
	put("bin/gh", gh)
	printed := e2etest.Plugin(t, c.KubeconfigPath, "apply", "-R", "-f", filepath.Join(w.dir, "shop"), "--dry-run=server", "-o", "role").Ends(t, 0)
	kubeconfig, err := os.ReadFile(e2etest.RolesOf(t, printed.Stdout.String()).Account(t, c, ns, nil))
	if err != nil {
		t.Fatal(err)
	}
	put("kubeconfig", string(kubeconfig))
	context := strings.TrimSpace(e2etest.Kubectl(t, c, "config", "current-context", "--kubeconfig", filepath.Join(w.dir, "kubeconfig")))
	rename := exec.CommandContext(t.Context(), c.Binary("kubectl"), "config", "rename-context", context, "production", "--kubeconfig", filepath.Join(w.dir, "kubeconfig"))
	if out, err := rename.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	digest, _, _ := strings.Cut(e2etest.After(e2etest.Plugin(t, c.KubeconfigPath, "diff", "-f", filepath.Join(w.dir, "shop")).Stdout.String(), "--confirm="), "\n")
	jq, err := filepath.Abs(filepath.Join("..", "..", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	w.env = append(os.Environ(), "HOME="+w.dir, "KUBECONFIG="+filepath.Join(w.dir, "kubeconfig"),
		"PATH="+strings.Join([]string{filepath.Join(w.dir, "bin"), filepath.Dir(c.Binary("kubectl")), os.Getenv("PATH"), jq}, string(os.PathListSeparator)),
		"GITHUB_STEP_SUMMARY="+filepath.Join(w.dir, "summary.md"), "GITHUB_EVENT_NAME=pull_request", "GITHUB_REPOSITORY=shop/shop", "PULL_REQUEST=https://github.example/shop/pull/1",
		"FOLDER=shop", "DIGEST="+digest)
	return w
}

// gh is GitHub's client. It keeps the comments of the pull request in comments.json, and the last one also in
// comment.md.
const gh = `#!/bin/sh
set -e
[ -f comments.json ] || echo '[]' > comments.json
case "$1 $2 $4 $6" in
'pr view --json --jq') jq "{$5: .}" comments.json | jq -r "$7" ;;
'pr comment --body-file '*)
  cp "$5" comment.md
  jq --rawfile body "$5" --arg url "$3" '. + [{url: "\($url)#issuecomment-\(length + 1)", $body, viewerDidAuthor: true}]' comments.json > new.json
  mv new.json comments.json ;;
'api -X repos/shop/shop/issues/comments/'*)
  cp "${6#body=@}" comment.md
  jq --rawfile body "${6#body=@}" --arg id "${4##*/}" 'map(if .url | endswith("#issuecomment-" + $id) then .body = $body else . end)' comments.json > new.json
  mv new.json comments.json ;;
*) echo "unknown command: $*" >&2; exit 1 ;;
esac
`

// run runs a script, with paths of a container mapped into the workspace.
func (w workspace) run(t *testing.T, script string) (string, error) {
	t.Helper()
	script = strings.NewReplacer("/src/", w.dir+"/", "/tmp/", w.dir+"/", "$(results.summary.path)", w.dir+"/summary.json").Replace(script)
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}
