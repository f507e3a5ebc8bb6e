package e2e_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// action is action/action.yml, and a workflow's job is a list of the same steps.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct{ Steps []actionStep }
}

type actionStep struct {
	Name, Uses, ID, If, Shell, Run string
	With                           map[string]any
	Env                            map[string]string
}

// actionRunner runs jobs as GitHub's runner would: in a workspace, with files through which a step
// passes on variables and folders of programs.
type actionRunner struct {
	workspace
	action      action
	expressions map[string]string
	// releases is the folder of releases, which the action downloads.
	releases string
	// url is where the releases are, if not in the folder.
	url string
}

var (
	expression = regexp.MustCompile(`\$\{\{ *(.*?) *\}\}`)
	comparison = regexp.MustCompile(`^inputs\.([a-z-]+) (==|!=) '(.*)'$`)
)

func (r *actionRunner) fill(t *testing.T, text string, inputs map[string]string) string {
	t.Helper()
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		name := expression.FindStringSubmatch(found)[1]
		if input, ok := strings.CutPrefix(name, "inputs."); ok {
			if value, ok := inputs[input]; ok {
				return value
			}
		} else if value, ok := r.expressions[name]; ok {
			return value
		}
		t.Fatalf("unknown expression %s", name)
		return ""
	})
}

// job runs the steps of a job that use the action. It returns the output, the summary, and the error
// of the step that failed.
func (r *actionRunner) job(t *testing.T, steps []actionStep) (out, summary string, err error) {
	t.Helper()
	temp := t.TempDir()
	env := append(slices.Clone(r.env), "KUBECONFIG=", "RUNNER_TEMP="+temp, "RUNNER_OS=Linux", "RUNNER_ARCH="+map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH])
	path := lastOf(r.env, "PATH")
	for _, step := range steps {
		if !strings.Contains(step.Uses, "/action@") {
			continue
		}
		inputs := map[string]string{}
		for name, input := range r.action.Inputs {
			inputs[name] = r.fill(t, input.Default, nil)
		}
		inputs["url"] = cmp.Or(r.url, "file://"+r.releases)
		for name, value := range step.With {
			if _, ok := inputs[name]; !ok {
				t.Fatalf("the action has no input %s", name)
			}
			inputs[name] = r.fill(t, fmt.Sprint(value), nil)
		}
		for _, one := range r.action.Runs.Steps {
			if one.If != "" {
				c := comparison.FindStringSubmatch(one.If)
				if c == nil {
					t.Fatalf("unknown condition %s", one.If)
				}
				if (inputs[c[1]] == c[3]) != (c[2] == "==") {
					continue
				}
			}
			files := map[string]string{}
			cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", one.Run)
			cmd.Dir, cmd.Env = r.dir, append(slices.Clone(env), "PATH="+path)
			for _, name := range []string{"GITHUB_PATH", "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} {
				files[name] = filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(files[name], nil, 0o600); err != nil {
					t.Fatal(err)
				}
				cmd.Env = append(cmd.Env, name+"="+files[name])
			}
			for name, value := range one.Env {
				cmd.Env = append(cmd.Env, name+"="+r.fill(t, value, inputs))
			}
			text, failed := cmd.CombinedOutput()
			out += string(text)
			read := func(name string) string {
				text, err := os.ReadFile(files[name])
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			summary += read("GITHUB_STEP_SUMMARY")
			if failed != nil {
				return out, summary, fmt.Errorf("%s: %w", one.Name, failed)
			}
			for line := range strings.Lines(read("GITHUB_PATH")) {
				path = strings.TrimSpace(line) + string(os.PathListSeparator) + path
			}
			for line := range strings.Lines(read("GITHUB_ENV")) {
				env = append(env, strings.TrimSpace(line))
			}
		}
	}
	return out, summary, nil
}

func lastOf(env []string, name string) (value string) {
	for _, one := range env {
		if of, found := strings.CutPrefix(one, name+"="); found {
			value = of
		}
	}
	return value
}

// archiveOf writes an archive of a release whose plugin is that of the tests, and returns its checksum.
func archiveOf(t *testing.T, folder, version string) string {
	t.Helper()
	program, err := exec.LookPath("kubectl-k8sconnect")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nexec " + program + ` "$@"`
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	files := tar.NewWriter(packed)
	if err := files.WriteHeader(&tar.Header{Name: "kubectl-k8sconnect", Mode: 0o755, Size: int64(len(script))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, version, fmt.Sprintf("kubectl-k8sconnect_%s_linux_%s.tar.gz", version, runtime.GOARCH))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(archive.Bytes())
	return hex.EncodeToString(sum[:])
}

func readYAML[T any](t *testing.T, path string) (value T) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// The jobs of the example for GitHub, with the steps of the action: the diff becomes a comment and a
// summary, the plan is applied, and refused if the cluster has changed since. The plugin is only on
// the PATH through the action, and the kubeconfig only in its input.
func TestGitHubAction(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the runner is emulated on Linux only")
	}
	c := shared.Cluster(t)
	root := filepath.Join("..", "..")
	workflow := readYAML[struct {
		Jobs map[string]struct{ Steps []actionStep }
	}](t, filepath.Join(root, "docs", "examples", "ci", "github.yaml"))
	start := func(t *testing.T, event string) (*actionRunner, string) {
		t.Helper()
		ns := e2etest.Namespace(t, c)
		r := &actionRunner{workspace: pipeline(t, c, ns), action: readYAML[action](t, filepath.Join(root, "action", "action.yml")), releases: t.TempDir()}
		program, err := exec.LookPath("kubectl-k8sconnect")
		if err != nil {
			t.Fatal(err)
		}
		folders := slices.DeleteFunc(filepath.SplitList(lastOf(r.env, "PATH")), func(folder string) bool { return folder == filepath.Dir(program) })
		r.env = append(r.env, "PATH="+strings.Join(folders, string(os.PathListSeparator)))
		kubeconfig, err := os.ReadFile(filepath.Join(r.dir, "kubeconfig"))
		if err != nil {
			t.Fatal(err)
		}
		r.expressions = map[string]string{
			"env.K8SCONNECT": "v0.0.1", "env.K8SCONNECT_SHA256": archiveOf(t, r.releases, "v0.0.1"), "github.token": "token",
			"secrets.KUBECONFIG_DIFF": string(kubeconfig), "secrets.KUBECONFIG_WRITE": string(kubeconfig),
			"github.event_name == 'schedule'": fmt.Sprint(event == "schedule"), "github.event.pull_request.html_url": "",
		}
		if event == "pull_request" {
			r.expressions["github.event.pull_request.html_url"] = "https://github.example/shop/pull/1"
		}
		return r, ns
	}
	for _, changed := range []bool{false, true} {
		t.Run(map[bool]string{false: "apply", true: "after a change"}[changed], func(t *testing.T) {
			r, ns := start(t, "pull_request")
			const others = `[{"url": "https://github.example/shop/pull/1#issuecomment-1", "body": "<!-- kubectl-k8sconnect  shop/ -->", "viewerDidAuthor": false},
				{"url": "https://github.example/shop/pull/1#issuecomment-2", "body": "the coverage", "viewerDidAuthor": true}]`
			if err := os.WriteFile(filepath.Join(r.dir, "comments.json"), []byte(others), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // The second run replaces the comment of the first one.
				out, summary, err := r.job(t, workflow.Jobs["diff"].Steps)
				comment, _ := os.ReadFile(filepath.Join(r.dir, "comment.md"))
				_, shown, _ := strings.Cut(string(comment), "-->\n")
				if err != nil || !strings.Contains(shown, "+  mode: fast") || shown != summary {
					t.Fatalf("%v: %s\ncomment: %s\nsummary: %s", err, out, comment, summary)
				}
				var all []struct{ Body string }
				text, _ := os.ReadFile(filepath.Join(r.dir, "comments.json"))
				if err := json.Unmarshal(text, &all); err != nil || len(all) != 3 || all[2].Body != string(comment) ||
					all[0].Body != "<!-- kubectl-k8sconnect  shop/ -->" || all[1].Body != "the coverage" {
					t.Fatalf("%v: the comments of others are changed, or the own one was not replaced: %s", err, text)
				}
			}
			if out, _, err := r.job(t, workflow.Jobs["plan"].Steps); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if changed {
				e2etest.Kubectl(t, c, "patch", "configmap/settings", "-n", ns, "--field-manager=hotfix", "-p", `{"data":{"mode":"off"}}`)
			}
			out, summary, err := r.job(t, workflow.Jobs["apply"].Steps)
			want, wrote := "1 configured", "fast"
			if changed {
				want, wrote = "nothing was written: ", "off"
			}
			if (err != nil) != changed || !strings.Contains(out, want) || !strings.Contains(summary, "    "+want) && !strings.Contains(summary, want) {
				t.Errorf("%v: %s\nsummary: %s", err, out, summary)
			}
			if got := e2etest.Kubectl(t, c, "get", "configmap/settings", "-n", ns, "-o", "jsonpath={.data.mode}"); got != wrote {
				t.Errorf("the value is %s, want %s", got, wrote)
			}
			if report, err := os.ReadFile(filepath.Join(r.dir, "shop.xml")); !changed && (err != nil || !strings.Contains(string(report), "<testsuite")) {
				t.Errorf("%v: %s", err, report)
			}
		})
	}
	t.Run("drift", func(t *testing.T) {
		r, _ := start(t, "schedule")
		out, summary, err := r.job(t, workflow.Jobs["diff"].Steps)
		if err == nil || !strings.Contains(summary, "+  mode: fast") {
			t.Errorf("%v: %s\n%s", err, out, summary)
		}
		if comment, err := os.ReadFile(filepath.Join(r.dir, "comment.md")); err == nil {
			t.Errorf("a comment without a pull request: %s", comment)
		}
	})
	t.Run("a server that is busy", func(t *testing.T) {
		r, _ := start(t, "pull_request")
		var asked atomic.Int64
		files := http.FileServer(http.Dir(r.releases))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if asked.Add(1) == 1 {
				http.Error(w, "busy", http.StatusTooManyRequests)
				return
			}
			files.ServeHTTP(w, req)
		}))
		defer server.Close()
		r.url = server.URL
		if out, _, err := r.job(t, workflow.Jobs["diff"].Steps); err != nil || asked.Load() != 2 {
			t.Errorf("%v, %d downloads: %s", err, asked.Load(), out)
		}
	})
	t.Run("another archive", func(t *testing.T) {
		r, _ := start(t, "pull_request")
		r.expressions["env.K8SCONNECT_SHA256"] = strings.Repeat("0", 64)
		out, _, err := r.job(t, workflow.Jobs["diff"].Steps)
		if err == nil || !strings.Contains(err.Error(), "Install the plugin") || !strings.Contains(out, "FAILED") {
			t.Errorf("%v: %s", err, out)
		}
	})
}
