package stories_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// function is an operator that runs as a function: it gets the desired state of one tenant, has
// little time, and may be killed at any moment.
type function struct {
	*cluster.Cluster
	requests   *proxy.HTTP
	kubeconfig string
	namespace  string
}

func newFunction(t *testing.T) *function {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	requests, err := c.HTTPProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(requests.Close)
	kubeconfig, err := c.Kubeconfig(requests.URL())
	if err != nil {
		t.Fatal(err)
	}
	f := &function{c, requests, kubeconfig, fmt.Sprintf("tenant-%x", time.Now().UnixNano())}
	f.kubectl(t, "create", "namespace", f.namespace)
	return f
}

func (f *function) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), f.Binary("kubectl"), append(args, "--kubeconfig", f.KubeconfigPath)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// state is a tenant's desired state: that many databases, each with that value.
func state(from, to int, value string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: db-%02d}\ndata: {value: %q}\n", i, value)
	}
	return b.String()
}

// databases returns the values and UIDs of the existing databases.
func (f *function) databases(t *testing.T) (values, uids map[string]string) {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name, UID string }
			Data     struct{ Value string }
		}
	}
	if err := json.Unmarshal([]byte(f.kubectl(t, "get", "configmaps", "-n", f.namespace, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	values, uids = map[string]string{}, map[string]string{}
	for _, item := range list.Items {
		if strings.HasPrefix(item.Metadata.Name, "db-") {
			values[item.Metadata.Name], uids[item.Metadata.Name] = item.Data.Value, item.Metadata.UID
		}
	}
	return values, uids
}

// has fails the test unless exactly these exist, with that value.
func (f *function) has(t *testing.T, from, to int, value string) {
	t.Helper()
	values, _ := f.databases(t)
	if len(values) != to-from {
		t.Errorf("%d databases, want %d", len(values), to-from)
	}
	for i := from; i < to; i++ {
		if name := fmt.Sprintf("db-%02d", i); values[name] != value {
			t.Errorf("%s is %q, want %q", name, values[name], value)
		}
	}
}

// apply returns the arguments of the function's call for a message of the queue.
func (f *function) apply(message string, more ...string) []string {
	return append([]string{"apply", "-n", f.namespace, "-f", "-", "--apply-set=tenant", "--prune", "--run-id=" + message}, more...)
}

// The paths of a database's writes.
func (f *function) writes(name string) proxy.Match {
	return proxy.Path(http.MethodPatch, "/api/v1/namespaces/"+f.namespace+"/configmaps/"+name)
}

// Story 2, the function: an operator that runs as a function for at most fifteen minutes, may be
// killed at any moment, and is restarted by a queue, sometimes twice at once.
func TestFunction(t *testing.T) {
	f := newFunction(t)
	const n = 40

	// The first message is processed, step by step.
	r := call(t, 0, f.kubeconfig, state(0, n, "1"), f.apply("message-1", "-o", "stream")...)
	says(t, r.stdout.String(), `"type":"planned","run":"message-1"`, `"action":"created"`, `"type":"finished"`)
	f.has(t, 0, n, "1")
	_, first := f.databases(t)

	// The second one is killed midway. The queue delivers it again and, because of its timeouts,
	// twice at once: one call gets the lock, and the other one waits. The lock of the killed call
	// is taken over.
	f.requests.Fail(-1, f.writes("db-2"), proxy.Fault{Status: http.StatusServiceUnavailable, Delay: time.Minute})
	dead := start(t, f.kubeconfig, state(10, n+10, "2"), f.apply("message-2")...)
	until(t, "the dead one has come half-way", func() bool {
		values, _ := f.databases(t)
		return values["db-12"] == "2" && values["db-45"] == "2"
	}, dead.stderr.String)
	if err := dead.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = dead.cmd.Wait()
	f.requests.Heal()
	_, before := f.databases(t)
	refused := call(t, 1, f.kubeconfig, state(10, n+10, "2"), f.apply("message-2", "--lock-timeout=0")...)
	says(t, refused.stderr.String(), "the set is locked by ", "run message-2, since ", "--lock-timeout")
	twins := []*run{
		start(t, f.kubeconfig, state(10, n+10, "2"), f.apply("message-2", "--lock-timeout=10m")...),
		start(t, f.kubeconfig, state(10, n+10, "2"), f.apply("message-2", "--lock-timeout=10m")...),
	}
	var done sync.WaitGroup
	for _, twin := range twins {
		done.Go(func() { _ = twin.cmd.Wait() })
	}
	done.Wait()
	for _, twin := range twins {
		if code := twin.cmd.ProcessState.ExitCode(); code != 0 {
			t.Fatalf("exit status %d\n%s%s", code, twin.stdout.String(), twin.stderr.String())
		}
	}

	// The end state equals that of one uninterrupted run: nothing is created twice, nothing is left
	// over.
	f.has(t, 10, n+10, "2")
	_, after := f.databases(t)
	for name, uid := range before {
		if now, stays := after[name]; stays && now != uid {
			t.Errorf("%s was recreated", name)
		}
	}
	if after["db-39"] != first["db-39"] {
		t.Error("a database that is in both sets was recreated")
	}

	// One message has too little time: the run stops cleanly and reports the rest, and the next one
	// continues there.
	f.requests.Fail(-1, f.writes("db-3"), proxy.Fault{Status: http.StatusServiceUnavailable, Delay: time.Minute})
	r = call(t, 1, f.kubeconfig, state(10, n+10, "3"), f.apply("message-3", "--timeout=15s")...)
	says(t, r.stderr.String(), "the run timed out after 15s (--timeout)", "it continues where it stopped")
	says(t, r.stdout.String(), "skipped")
	f.requests.Heal()
	from := len(f.requests.Requests())
	call(t, 0, f.kubeconfig, state(10, n+10, "3"), f.apply("message-3", "--lock-timeout=5m")...)
	for _, r := range f.requests.Requests()[from:] {
		if r.Method == http.MethodPatch && strings.Contains(r.URI, "/configmaps/db-4") {
			t.Errorf("an object that was already written was written again: %s", r.URI)
		}
	}
	f.has(t, 10, n+10, "3")

	// A message that fails midway is rolled back.
	f.requests.Fail(-1, f.writes("db-30"), proxy.Fault{Status: http.StatusForbidden})
	call(t, 1, f.kubeconfig, state(10, n+10, "4"), f.apply("message-4", "--atomic")...)
	f.requests.Heal()
	f.has(t, 10, n+10, "3")

	// The message's id leads to who did what and when: in the tenant's Events, and in the lock.
	reported := f.kubectl(t, "get", "events", "-n", f.namespace, "--field-selector=involvedObject.name=tenant",
		"-o", `jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}`)
	for _, want := range []string{"RunSucceeded: apply, run message-1, by ", "RunSucceeded: apply, run message-2, by ", "RunFailed: apply, run message-3, by ", "RunFailed: apply, run message-4, by "} {
		if !strings.Contains(reported, want) {
			t.Errorf("no Event contains %q:\n%s", want, reported)
		}
	}
	lease := f.kubectl(t, "get", "leases", "-n", f.namespace, "-o", `jsonpath={.items[*].metadata.annotations.k8sconnect\.io/run}`)
	if strings.TrimSpace(lease) != "message-4" {
		t.Errorf("the lock was last held by run %q, want message-4", lease)
	}
}
