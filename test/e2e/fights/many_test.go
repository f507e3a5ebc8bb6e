package fights_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// Among 100,000 objects, with Leases and node heartbeats, loops of two a minute to 50 a second are
// found within --for, in bounded memory. The test logs the API server's CPU time with and without
// the verb.
func TestLoopsAmongManyObjects(t *testing.T) {
	circle.Long(t)
	c := cluster.ForTest(t, cluster.Options{AuditLog: "audit.log"})
	s := newSite(t, c, "many")
	objects := 100_000
	if text := os.Getenv("FIGHTS_OBJECTS"); text != "" {
		objects, _ = strconv.Atoi(text)
	}
	crowd(t, c, s.ns, objects)
	want := s.seed(t, []float64{2, 31, 84, 600, 3000})
	s.healthy(t)
	s.heartbeats(t, c, 500)
	time.Sleep(10 * time.Second)
	var without, with time.Duration
	var r report
	for range circle.Of(1, 1, 2) {
		without += processorTime(t, c, func() { time.Sleep(70 * time.Second) })
		with += processorTime(t, c, func() {
			began := time.Now()
			var peak int
			r, peak = s.program(t)
			time.Sleep(70*time.Second - time.Since(began))
			if peak > 500 {
				t.Errorf("%d MB", peak)
			}
			t.Logf("%d objects, %d MB", r.Objects, peak)
		})
	}
	s.stop()
	if r.Unclear > 0 {
		t.Errorf("%d objects could not be read", r.Unclear)
	}
	t.Logf("the API server took %s without the verb and %s with it: %+.1f %%", without, with, 100*(with.Seconds()/without.Seconds()-1))
	log := s.logged(t)
	found := log.judge(t, r)
	for name := range want {
		if !found[name] {
			t.Errorf("the loop %s was not found", name)
		}
	}
	for name := range found {
		if !want[name] {
			t.Errorf("%s was found, but was not seeded", name)
		}
	}
}

// crowd creates objects.
func crowd(t *testing.T, c *cluster.Cluster, ns string, n int) {
	t.Helper()
	client := background(t, c)
	var all sync.WaitGroup
	next := make(chan int)
	for range 16 {
		all.Go(func() {
			for i := range next {
				kind, resource := "ConfigMap", "configmaps"
				if i%4 == 0 {
					kind, resource = "Secret", "secrets"
				}
				u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
					"name": fmt.Sprintf("crowd-%d", i), "labels": map[string]any{"app": "crowd"},
				}}}
				if _, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(ns).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

func background(t *testing.T, c *cluster.Cluster) dynamic.Interface {
	t.Helper()
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// heartbeats renews the Lease of each node and its status every ten seconds.
func (s *site) heartbeats(t *testing.T, c *cluster.Cluster, nodes int) {
	t.Helper()
	client := background(t, c)
	leases := client.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(s.ns)
	all := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		for kind, in := range map[string]dynamic.ResourceInterface{"coordination.k8s.io/v1 Lease": leases, "v1 Node": all} {
			version, kind, _ := strings.Cut(kind, " ")
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name, "labels": map[string]any{"os": "linux"}}}}
			if _, err := in.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		now := func() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }
		s.every(6, func(int) {
			_, _ = leases.Patch(s.ctx, name, types.MergePatchType, []byte(`{"spec":{"renewTime":"`+now()+`"}}`), metav1.PatchOptions{FieldManager: "kubelet"})
		})
		s.every(6, func(int) {
			beat := `{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"` + now()[:19] + `Z"}]}}`
			_, _ = all.Patch(s.ctx, name, types.MergePatchType, []byte(beat), metav1.PatchOptions{FieldManager: "kubelet"}, "status")
		})
	}
}

// program runs the verb in its own process, and returns its report and its peak memory in MB.
func (s *site) program(t *testing.T) (r report, peak int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, os.Args[0], "fights", "-A", "--for=60s", "-o", "json", "--kubeconfig", s.c.KubeconfigPath)
	cmd.Env = append(os.Environ(), asPlugin+"=1", "GOGC=100")
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { _ = cmd.Wait(); close(over) }()
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-time.After(50 * time.Millisecond):
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			_, rest, _ := strings.Cut(string(text), "VmHWM:")
			value, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			kb, _ := strconv.Atoi(value)
			peak = max(peak, kb>>10)
		}
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v, exit status %d\n%s%s", err, cmd.ProcessState.ExitCode(), &out, &errOut)
	}
	t.Logf("the verb took %s of processor time", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	return r, peak
}

// processorTime returns the API server's CPU time meanwhile.
func processorTime(t *testing.T, c *cluster.Cluster, do func()) time.Duration {
	t.Helper()
	stat := ""
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		if text, _ := os.ReadFile(name); bytes.Contains(text, []byte("kube-apiserver")) && bytes.Contains(text, []byte(c.Dir)) {
			stat = filepath.Join(filepath.Dir(name), "stat")
		}
	}
	took := func() time.Duration {
		text, err := os.ReadFile(stat)
		if err != nil {
			t.Skip("needs /proc to read processor time")
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		return time.Duration(user+system) * 10 * time.Millisecond // 100 a second on Linux
	}
	before := took()
	do()
	return took() - before
}
