package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

const modulePath = "github.com/k8sconnect/kubectl-k8sconnect"

// A user who only has Go installs a tag, or a commit between tags, by name. Go reads it from the
// repository, so the test covers the tag, the module's files, and the absence of replace
// directives.
func TestGoInstall(t *testing.T) {
	circle.Full(t)
	source := repo{t, clone(t, "source")}
	source.git("checkout", "-q", "-B", "main") // in CI, the commit is often on no branch
	source.git("add", "-A")
	source.git("commit", "-q", "--allow-empty", "-m", "what is to be tagged")
	source.git("tag", "-a", "-m", "v0.99.0", "v0.99.0")
	source.git("commit", "-q", "--allow-empty", "-m", "one more")
	next := source.git("rev-parse", "HEAD")

	known := strings.TrimSpace(run(t, ".", nil, "go", "env", "GOMODCACHE"))
	env := []string{
		"GOPRIVATE=" + modulePath, "GOPROXY=file://" + filepath.Join(known, "cache/download"), "GOSUMDB=off", "GOWORK=off",
		"GOMODCACHE=" + t.TempDir(), "GOFLAGS=-trimpath -modcacherw", "CGO_ENABLED=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + source.dir + ".insteadOf", "GIT_CONFIG_VALUE_0=https://" + modulePath,
	}
	install := func(query string) map[string]string {
		t.Helper()
		bin := t.TempDir()
		run(t, bin, append(env, "GOBIN="+bin), "go", "install", modulePath+"/cmd/kubectl-k8sconnect@"+query)
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl-k8sconnect"), "version", "--client", "-o", "json").Output()
		if err != nil {
			t.Fatalf("version: %v\n%s", err, out)
		}
		var message struct {
			Client map[string]string `json:"client"`
		}
		if err := json.Unmarshal(out, &message); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return message.Client
	}
	if message := install("latest"); message["version"] != "v0.99.0" {
		t.Errorf("version for latest is %v, want v0.99.0", message)
	}
	message := install(next)
	if !strings.HasPrefix(message["version"], "v0.99.1-0.") || message["commit"] != next[:12] || message["date"] == "" {
		t.Errorf("version for %s is %v", next, message)
	}
}
