package migration_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// patience allows for a busy machine.
const patience = 10 * time.Minute

// site is a cluster with two replicas of the webhook, with the chart's defaults: of each write,
// only one of them has a hint.
type site struct {
	*cluster.Cluster
	dynamic.Interface
	typed    kubernetes.Interface
	replicas []func() *companion.Replica
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Cluster: cluster.ForTest(t, cluster.Options{})}
	config, err := s.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	s.Interface, s.typed = dynamic.NewForConfigOrDie(config), kubernetes.NewForConfigOrDie(config)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	webhook, err := companion.Install(ctx, s.Cluster, companion.Options{Set: []string{"tracking.secrets=true"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(webhook.Close)
	for range 2 {
		replica, err := webhook.Keep(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s.replicas = append(s.replicas, replica)
	}
	return s
}

// Every tool migrates some sets of manifests; in the third circle all of them, which takes a
// quarter of an hour for each tool.
func TestMigration(t *testing.T) {
	tools := map[string]func(*site, *testing.T, manifests){
		"kubectl":    (*site).byKubectl,
		"helm":       (*site).byHelm,
		"k8sconnect": (*site).byUs,
	}
	for name, move := range tools {
		t.Run(name, func(t *testing.T) {
			if name != "kubectl" {
				circle.Full(t)
			}
			s := newSite(t)
			for _, set := range append(chosen(readCorpus(t)), defaulted(t)) {
				s.namespaces(t, set)
				move(s, t, set)
			}
			s.settle(t)
			if moved := s.metric(t, `kind="unclear"`); moved < 20 {
				t.Errorf("%g paths moved: the test proves nothing", moved)
			}
			// A restarted replica has counted only a part.
			if n := s.metric(t, `kind="taken"`); n > 2 {
				t.Errorf("%g paths were taken, want only the last one, once for each replica", n)
			}
		})
	}
}

// chosen returns the sets to migrate; MIGRATION selects some, separated by commas.
func chosen(all []manifests) []manifests {
	names := os.Getenv("MIGRATION")
	if names == "" {
		names = circle.Of("hcloud-csi", "hcloud-csi,ingress-nginx", "")
	}
	some := slices.DeleteFunc(slices.Clone(all), func(m manifests) bool { return !slices.Contains(strings.Split(names, ","), m.name) })
	if names == "" || len(some) == 0 { // there are few without a corpus
		return all
	}
	return some
}

func (s *site) byKubectl(t *testing.T, set manifests) {
	home := s.clientSide(t, set)
	message := s.run(t, "", s.Binary("kubectl"), "apply", "--server-side", "-f", set.file, home)
	calm(t, set, message)
}

func (s *site) byUs(t *testing.T, set manifests) {
	home := s.clientSide(t, set)
	message := s.run(t, "", filepath.Join(filepath.Dir(chart.Dir(t)), "..", "bin", "kubectl-k8sconnect"), "apply", "-f", set.file, home)
	calm(t, set, message)
}

// clientSide applies a set client-side, and again those objects whose kinds kubectl did not know
// before the set's definitions were served. It returns the flag of [site.home].
func (s *site) clientSide(t *testing.T, set manifests) string {
	home := s.home(t, set)
	s.run(t, "", s.Binary("kubectl"), "apply", "-f", set.file, home)
	if set.defines() {
		s.established(t)
		s.run(t, "", s.Binary("kubectl"), "apply", "-f", set.file, home)
	}
	return home
}

// byHelm creates a chart of a set, and creates the objects that Helm does not install.
func (s *site) byHelm(t *testing.T, set manifests) {
	set.definitions(t, s)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":              "{apiVersion: v2, name: moved, version: 0.1.0}",
		"templates/all.yaml":      `{{ .Files.Get "files/all.yaml" }}`,
		"files/all.yaml":          set.text,
		"templates/settings.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := chart.NewHelm(t, s.KubeconfigPath)
	in := []string{"moved", dir, "--namespace", set.namespace}
	if message, err := h.Try(t.Context(), append([]string{"install", "--server-side=false"}, in...)...); err != nil {
		t.Logf("%s is left out: %s", set.name, lastLine(message+err.Error()))
		return
	}
	message, err := h.Try(t.Context(), append([]string{"upgrade", "--server-side=true"}, in...)...)
	if err != nil {
		t.Logf("%s: %s", set.name, lastLine(message+err.Error()))
	}
	calm(t, set, message)
}

// home returns the flag that sets the namespace of objects without one.
func (s *site) home(t *testing.T, set manifests) string {
	t.Helper()
	content, err := os.ReadFile(s.KubeconfigPath)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), s.Binary("kubectl"), "config", "set-context", "--current", "--namespace="+set.namespace, "--kubeconfig="+path)
	if message, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, message)
	}
	return "--kubeconfig=" + path
}

// run runs a program, and returns its output. It ignores that some objects of the corpus are
// refused, which other tests cover.
func (s *site) run(t *testing.T, stdin, program string, args ...string) string {
	t.Helper()
	args = append([]string{args[0], "--kubeconfig=" + s.KubeconfigPath, "--cache-dir=" + t.TempDir()}, args[1:]...) // the last one counts
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	message, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("%s %s: %s", filepath.Base(program), args[0], lastLine(string(message)))
	}
	return string(message)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// calm checks that there was no warning about a takeover.
func calm(t *testing.T, set manifests, message string) {
	t.Helper()
	for line := range strings.Lines(message) {
		if strings.Contains(line, " taken from ") {
			t.Errorf("%s: %s", set.name, strings.TrimSpace(line))
		}
	}
}

// settle takes over a field by force, waits until both replicas are idle, and checks that this is
// the only takeover in records and Events.
func (s *site) settle(t *testing.T) {
	t.Helper()
	configMaps := s.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(metav1.NamespaceDefault)
	for i, by := range []string{"one", "another"} {
		last := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "last"}, "data": map[string]any{"k": fmt.Sprint(i)},
		}}
		if _, err := configMaps.Apply(t.Context(), "last", last, metav1.ApplyOptions{FieldManager: by, Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	records := s.Resource(schema.GroupVersionResource{Group: ownership.RecordGroup, Version: ownership.RecordVersion, Resource: ownership.RecordPlural})
	names := func(kind string, list []unstructured.Unstructured) (names []string) {
		for _, u := range list {
			object, _, _ := unstructured.NestedString(u.Object, "object", "name")
			names = append(names, cmp.Or(object, u.GetName()))
		}
		if len(names) > 1 {
			t.Errorf("%d %s, want at most one; the first is of %s", len(names), kind, names[0])
		}
		return names
	}
	deadline := time.Now().Add(patience)
	for s.metric(t, `kind="taken"`)+s.metric(t, `kind="lost"`) == 0 || s.busy(t) {
		if time.Now().After(deadline) {
			t.Error("not all changes are settled")
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	list, err := records.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := names("records", list.Items); len(got) != 1 || got[0] != "last" {
		for _, u := range list.Items[:min(5, len(list.Items))] {
			text, _ := json.Marshal(u.Object["transitions"])
			t.Logf("%v: %.600s", u.Object["object"], text)
		}
		t.Errorf("records: %d, want one, of the last takeover", len(got))
	}
	var events []corev1.Event
	for ; len(events) == 0 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		list, err := s.typed.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FieldOwnershipTaken"})
		if err != nil {
			t.Fatal(err)
		}
		events = list.Items
	}
	if len(events) != 1 || events[0].InvolvedObject.Name != "last" {
		t.Errorf("%d Events, want one, of the last takeover", len(events))
	}
}

func (s *site) metric(t *testing.T, labels ...string) float64 {
	t.Helper()
	return s.sum(t, "k8sconnect_ownership_transitions_total", labels...)
}

// busy reports whether a replica has anything left to record.
func (s *site) busy(t *testing.T) bool {
	t.Helper()
	return slices.ContainsFunc(s.replicas, func(current func() *companion.Replica) bool {
		busy, err := current().Busy(t.Context())
		return busy || err != nil
	})
}

// sum returns the sum of a metric over all replicas.
func (s *site) sum(t *testing.T, name string, labels ...string) (sum float64) {
	t.Helper()
	for _, current := range s.replicas {
		for started := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			v, err := current().Metric(t.Context(), name, labels...)
			if err == nil {
				sum += v
				break
			}
			if time.Since(started) > patience {
				t.Fatal(err)
			}
		}
	}
	return sum
}
