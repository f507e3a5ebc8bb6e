package night_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

var shared = cluster.Shared{Options: cluster.Options{Controllers: true, Nodes: 1}}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// shop is a cluster with the webhook, in which the shop runs.
type shop struct {
	*cluster.Cluster
	t *testing.T
}

// kubectl runs kubectl as a person.
func (s shop) kubectl(user, stdin string, args ...string) {
	s.t.Helper()
	if out, err := s.tryKubectl(s.t.Context(), user, stdin, args...); err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (s shop) tryKubectl(ctx context.Context, user, stdin string, args ...string) ([]byte, error) {
	args = append(args, "-n", "shop", "--kubeconfig", s.KubeconfigPath, "--cache-dir", s.Dir+"/kubectl-cache", "--as="+user, "--as-group=system:masters")
	cmd := exec.CommandContext(ctx, s.Binary("kubectl"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	return cmd.CombinedOutput()
}

// call runs the plugin, and checks its exit status.
func (s shop) call(want int, args ...string) string {
	s.t.Helper()
	out, status := s.try(args...)
	if status != want {
		s.t.Fatalf("%s: exit status %d, want %d\n%s", strings.Join(args, " "), status, want, out)
	}
	return out
}

func (s shop) try(args ...string) (string, int) {
	var out bytes.Buffer
	all := append([]string{"kubectl-k8sconnect"}, append(args, "--kubeconfig", s.KubeconfigPath, "--cache-dir", s.Dir+"/plugin-cache")...)
	status := cli.Main(s.t.Context(), all, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	return out.String(), status
}

// says fails the test unless a text contains all of these, in order.
func says(t *testing.T, text string, want ...string) {
	t.Helper()
	rest := text
	for _, w := range want {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Fatalf("output does not contain %q, or not in this order: %q\n%s", w, want, text)
		}
		rest = after
	}
}

func (s shop) until(what string, is func() bool) {
	s.t.Helper()
	if !cluster.Until(3*time.Minute, is) {
		s.t.Fatal("timed out: " + what)
	}
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "registry.example/web:1.2"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: info}
`

// api is applied by a GitOps tool; %s is its number of replicas, or nothing.
func api(replicas string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  ` + replicas + `
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: app, image: "registry.example/api:7"}]}`
}

// "The shop has one Pod." Jane has scaled it, joe has changed its image, and jane has deleted its
// settings; an operator and a GitOps tool fight over the API. Whoever is on call knows none of this.
func TestNight(t *testing.T) {
	s := shop{Cluster: shared.Cluster(t), t: t}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	webhook, err := companion.Install(ctx, s.Cluster, companion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer webhook.Close()
	if err := webhook.BePatient(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := webhook.Start(ctx); err != nil {
		t.Fatal(err)
	}
	release := t.TempDir()
	for name, text := range map[string]string{"Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0}", "templates/web.yaml": web} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(release, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(release, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chart.NewHelm(t, s.KubeconfigPath).Run(t, "install", "shop", release, "--namespace", "shop", "--create-namespace")
	s.until("the webhook watches the shop", func() bool {
		_, status := s.try("owners", "deploy/web", "-n", "shop", "--history")
		return status == 0
	})

	revision := `--for=jsonpath={.metadata.annotations.deployment\.kubernetes\.io/revision}=`
	s.kubectl("admin", "", "wait", "deploy/web", revision+"1", "--timeout=2m")
	s.kubectl("joe", "", "set", "image", "deploy/web", "app=registry.example/web:1.3-rc")
	s.kubectl("admin", "", "wait", "deploy/web", revision+"2", "--timeout=2m")
	s.kubectl("jane", "", "scale", "deploy/web", "--replicas=1")
	s.kubectl("jane", "", "delete", "configmap", "settings")

	var declared atomic.Value
	declared.Store(api("replicas: 5"))
	gitops := func(ctx context.Context) {
		_, _ = s.tryKubectl(ctx, "gitops", declared.Load().(string), "apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", "-")
	}
	gitops(ctx)
	tools, stop := context.WithCancel(ctx)
	var fight sync.WaitGroup
	defer fight.Wait()
	defer stop()
	fight.Go(func() {
		for tools.Err() == nil {
			gitops(tools)
			_, _ = s.tryKubectl(tools, "operator", "", "patch", "deploy/api", "--field-manager=operator", "-p", `{"spec":{"replicas":2}}`)
		}
	})

	// owners --history says who scaled, and from what to what.
	var seen string
	defer func() {
		if t.Failed() {
			t.Log(seen)
		}
	}()
	s.until("the scaling is recorded", func() bool {
		seen, _ = s.try("owners", "deploy/web", "-n", "shop", "--history", "--path=.spec.replicas")
		return strings.Contains(seen, "the value went from 3 to 1")
	})
	says(t, seen, "taken  from helm", "to kubectl (scale)", "the value went from 3 to 1", "by the user jane")

	// Why did it roll?
	s.until("the rollout's user is recorded", func() bool {
		seen, _ = s.try("history", "deploy/web", "-n", "shop")
		return strings.Contains(seen, "user: joe")
	})
	says(t, seen, "revision 2, now", "image changed", `.spec.template.spec.containers[name="app"].image  registry.example/web:1.2 → registry.example/web:1.3-rc`,
		"by kubectl-set (Update)", "user: joe", "revision 1", "created", ".spec.replicas", "the value went from 3 to 1", "by the user jane")

	// history --deleted lists what was deleted, and by whom.
	s.until("the deletion is recorded", func() bool {
		seen, _ = s.try("history", "--deleted", "-n", "shop", "--since=6h")
		return strings.Contains(seen, "configmap/settings")
	})
	says(t, seen, "deleted  configmap/settings -n shop", "by the user jane", "last owners: helm")
	says(t, s.call(0, "history", "cm/settings", "-n", "shop"), "deleted  configmap/settings -n shop", "by the user jane")

	// Do two tools still fight? The command that is printed ends it, once the other tool no longer
	// declares the field.
	var found struct {
		Fights []struct {
			Name string
			Next []string
		}
	}
	text := s.call(1, "fights", "deployments", "-n", "shop", "--for=10s", "-o", "json")
	text = text[strings.Index(text, "{"):]
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&found); err != nil || len(found.Fights) != 1 || found.Fights[0].Name != "api" || len(found.Fights[0].Next) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	declared.Store(api(""))
	words := strings.Fields(found.Fights[0].Next[0])
	s.until("the field is given", func() bool {
		_, status := s.try(words[2:]...)
		return status == 0
	})
	s.until("no fight is left", func() bool {
		seen, _ = s.try("fights", "deployments", "-n", "shop", "--for=5s")
		return strings.Contains(seen, "no fights")
	})
}
