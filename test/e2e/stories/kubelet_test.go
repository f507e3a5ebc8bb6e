package stories_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// kubelet serves containers' logs to the API server, as a node does. The kwok nodes serve nothing
// else.
type kubelet struct {
	server *httptest.Server

	mu sync.Mutex
	// logs are by namespace, container and instance: Pods' names are not known before.
	logs map[string]string
	// silent contains the containers whose logs get no response.
	silent map[string]bool
	// asked contains the received requests.
	asked []string
}

func newKubelet(t *testing.T, c *cluster.Cluster) *kubelet {
	t.Helper()
	k := &kubelet{logs: map[string]string{}, silent: map[string]bool{}}
	k.server = httptest.NewTLSServer(k)
	t.Cleanup(k.server.Close)
	addresses := strings.Fields(kubectl(t, c, "", "get", "nodes", "-o", `jsonpath={range .items[*].status.addresses[*]}{.address}{"\n"}{end}`))
	ports := strings.Fields(kubectl(t, c, "", "get", "nodes", "-o", `jsonpath={range .items[*]}{.status.daemonEndpoints.kubeletEndpoint.Port}{"\n"}{end}`))
	for _, port := range append(ports, "10250") {
		for _, address := range addresses {
			if err := c.RouteHost(net.JoinHostPort(address, port), k.server.Listener.Addr().String()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return k
}

// writes sets a container's log, in this instance or in the previous one.
func (k *kubelet) writes(namespace, container string, previous bool, lines ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[fmt.Sprintf("%s/%s/%t", namespace, container, previous)] = strings.Join(lines, "\n") + "\n"
}

// falls makes requests for a container's logs get no response.
func (k *kubelet) fallsSilent(container string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.silent[container] = true
}

// ServeHTTP returns a log: its last lines, and of these the first bytes.
func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 4 || parts[0] != "containerLogs" {
		http.NotFound(w, r)
		return
	}
	query := r.URL.Query()
	k.mu.Lock()
	k.asked = append(k.asked, r.URL.RequestURI())
	log, known := k.logs[fmt.Sprintf("%s/%s/%t", parts[1], parts[3], query.Get("previous") == "true")]
	silent := k.silent[parts[3]]
	k.mu.Unlock()
	switch {
	case silent:
		<-r.Context().Done()
		return
	case !known:
		http.Error(w, "there is no such instance of container "+parts[3], http.StatusBadRequest)
		return
	}
	lines := strings.SplitAfter(strings.TrimSuffix(log, "\n"), "\n")
	if n, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		lines = lines[max(0, len(lines)-n):]
	}
	message := strings.Join(lines, "") + "\n"
	if n, err := strconv.Atoi(query.Get("limitBytes")); err == nil {
		message = message[:min(n, len(message))]
	}
	_, _ = w.Write([]byte(message))
}

func (k *kubelet) requests() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.asked, "\n")
}

// Story 3, continued: the cause of a crash is often only in the log. --logs shows the end of the
// container's log before the crash, with values of Secrets masked. A node that does not respond
// delays no other output.
func TestLogsOfCrashedContainer(t *testing.T) {
	l := newInnerLoop(t, "logs")
	l.OwnOnly(t)
	node := newKubelet(t, l.Cluster)
	const password = "correct-horse-battery"
	set := `
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {password: ` + password + `}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec:
  minReadySeconds: 590
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - {name: db, image: "registry.example/db:1.0.0"}
      - {name: exporter, image: "registry.example/exporter:1.0.0"}
`
	node.writes(l.ns, "db", true, "starting", "opening /data as "+password, "", "DBPathInUse: \x1b[31munable to lock\x1b[0m the lock file")
	node.writes(l.ns, "db", false, "starting")
	r := start(t, l.KubeconfigPath, set, "apply", "-f", "-", "-n", l.ns, "--wait", "--logs=3", "--stuck-after=1s", "--timeout=30m")
	pod := l.pods(t, "db", "registry.example/db:1.0.0", 1)[0]
	const crashed = `{"name":"%s","image":"","imageID":"","ready":false,"restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},
		"lastState":{"terminated":{"exitCode":100,"reason":"Error","startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:00:01Z"}}}`
	const runs = `{"name":"%s","image":"","imageID":"","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}`
	l.reports(t, pod, fmt.Sprintf(crashed, "db")+","+fmt.Sprintf(runs, "exporter"), "False")

	// The end of the log is below the cause, while the wait continues.
	r.hears(t, "the lock file")
	says(t, r.stderr.String(), "no progress: deployment.apps/db -n "+l.ns, "ContainerCrash: ", "container db exits with code 100 each time it starts",
		"exit code 100 (Error) at 2026-01-01 00:00:01Z, 3 restarts", "log      opening /data as ***\n", `DBPathInUse: \x1b[31munable to lock\x1b[0m the lock file`)

	// The other container also crashes, and its log cannot be read: that is reported, and both are
	// explained.
	node.fallsSilent("exporter")
	l.reports(t, pod, fmt.Sprintf(crashed, "db")+","+fmt.Sprintf(crashed, "exporter"), "False")
	r.hears(t, "its log could not be read")
	all := r.stderr.String()
	says(t, all[strings.Index(all, "container exporter exits"):], "container exporter exits with code 100", "its log could not be read: ", "kubectl logs "+pod+" -c exporter --previous")

	// When the wait is interrupted, the result contains everything known.
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.ends(t, 2)
	says(t, r.stdout.String(), "ContainerCrash", "the lock file")
	if all := r.stdout.String() + r.stderr.String(); strings.Contains(all, password) || strings.Contains(all, "log      starting") || strings.Contains(all, "\x1b") {
		t.Errorf("output contains a Secret's value, lines before the last ones, or control characters:\n%s", all)
	}
	for request := range strings.Lines(node.requests()) {
		if !strings.Contains(request, "previous=true") || !strings.Contains(request, "tailLines=3") {
			t.Errorf("unexpected log request: %s", request)
		}
	}
}

// Story 3, continued: a job applies something that cannot start. Without a terminal, no user can
// press Ctrl-C, so the wait ends long before its timeout, and reports the cause.
func TestWorkloadThatCannotStartEndsWait(t *testing.T) {
	l := newInnerLoop(t, "cannot-start")
	const set = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  minReadySeconds: 590
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/Web:1"}]}
`
	wait := []string{"--stuck-after=1s", "--timeout=30m", "-n", l.ns}
	r := start(t, l.KubeconfigPath, set, append([]string{"apply", "-f", "-", "--wait"}, wait...)...)
	pod := l.pods(t, "web", "registry.example/Web:1", 1)[0]
	l.reports(t, pod, `{"name":"web","image":"","imageID":"","ready":false,"restartCount":0,"state":{"waiting":{"reason":"InvalidImageName","message":"couldn't parse image name"}}}`, "False")
	r.hears(t, "ImageNameInvalid")
	until(t, "the wait ends", func() bool { return strings.Contains(r.stdout.String(), "ended early") }, func() string { return r.stdout.String() + r.stderr.String() })
	r.ends(t, 1)
	says(t, r.stdout.String(), "failed", "deployment.apps/web -n "+l.ns+": ended early: ImageNameInvalid has lasted for ", "registry.example/Web:1 is not a valid image name")

	// A waiting user may know better: without a flag, wait does not end early.
	r = start(t, l.KubeconfigPath, "", append([]string{"wait", "deploy/web", "--fail-on-cause"}, wait...)...)
	until(t, "the wait ends", func() bool { return strings.Contains(r.stdout.String(), "ended early") }, func() string { return r.stdout.String() + r.stderr.String() })
	r.ends(t, 1)
}
