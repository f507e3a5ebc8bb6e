package stories_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// innerLoop is a cluster on a laptop: one node, with services that are rebuilt and deployed all
// day.
type innerLoop struct {
	*cluster.Cluster
	ns string
}

func newInnerLoop(t *testing.T, namespace string) *innerLoop {
	t.Helper()
	l := &innerLoop{shared.Cluster(t), namespace}
	l.kubectl(t, "create", "namespace", l.ns)
	t.Cleanup(func() {
		args := []string{"delete", "namespace", l.ns, "--wait=false", "--kubeconfig", l.KubeconfigPath}
		_ = exec.CommandContext(context.WithoutCancel(t.Context()), l.Binary("kubectl"), args...).Run()
	})
	return l
}

func (l *innerLoop) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), l.Binary("kubectl"), append(args, "--kubeconfig", l.KubeconfigPath)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// call runs the plugin in the namespace.
func (l *innerLoop) call(t *testing.T, status int, stdin string, args ...string) *run {
	t.Helper()
	return call(t, status, l.KubeconfigPath, stdin, append(args, "-n", l.ns)...)
}

// pods waits until an app has that many running Pods with an image, and returns their names.
func (l *innerLoop) pods(t *testing.T, app, image string, n int) []string {
	t.Helper()
	var names []string
	list := func() string {
		return l.kubectl(t, "get", "pods", "-n", l.ns, "-l", "app="+app, "--field-selector=status.phase=Running", "-o",
			`jsonpath={range .items[?(@.spec.containers[0].image=="`+image+`")]}{.metadata.name}{"\n"}{end}`)
	}
	until(t, fmt.Sprintf("%s has %d Pods of %s", app, n, image), func() bool {
		names = strings.Fields(list())
		return len(names) == n
	}, list)
	return names
}

// reports writes the status of a Pod's first container, as a kubelet.
func (l *innerLoop) reports(t *testing.T, pod, container, ready string) {
	t.Helper()
	l.kubectl(t, "patch", "pod", pod, "-n", l.ns, "--subresource=status", "--type=merge", "-p",
		`{"status":{"containerStatuses":[`+container+`],"conditions":[{"type":"Ready","status":"`+ready+`"},{"type":"ContainersReady","status":"`+ready+`"}]}}`)
}

// Story 3, the inner loop: services on kind, rebuilt and redeployed all day.
func TestInnerLoop(t *testing.T) {
	l := newInnerLoop(t, "inner-loop")
	const database = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: kwok-volume, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec:
  selector: {matchLabels: {app: db}}
  minReadySeconds: 0
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: "registry.example/db:1.0.0"}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
	const service = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example/web:dev"}
      - {name: sidecar, image: "registry.example/sidecar:1.0.0", args: [--record=$(POD_NAME)]}
`

	// The sidecar writes a record under its Pod's name, but does not get the name. That is reported
	// before the apply, with the missing lines.
	message := l.call(t, 1, service, "diff", "-f", "-").stderr.String()
	says(t, message, `deployment.apps/web -n inner-loop: .spec.template.spec.containers[name="sidecar"].args: the container does not define the variable in $(POD_NAME)`,
		"hint: add to the container's env: {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}")
	mended := strings.Replace(service, "args:", "env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], args:", 1)
	if message := l.call(t, 0, mended, "apply", "-f", "-", "--wait").stderr.String(); strings.Contains(message, "warning") {
		t.Errorf("warning about a fixed problem:\n%s", message)
	}

	// The database is created: nothing blocks it.
	if message := l.call(t, 0, database, "apply", "-f", "-", "--wait", "--dry-run=server").stderr.String(); strings.Contains(message, "warning") {
		t.Errorf("warning about a first rollout:\n%s", message)
	}
	l.call(t, 0, database, "apply", "-f", "-", "--wait")
	old := l.pods(t, "db", "registry.example/db:1.0.0", 1)[0]

	// Its next version would start next to the old one, with the same volume. That is reported
	// before the apply.
	next := strings.NewReplacer("db:1.0.0", "db:2.0.0", "minReadySeconds: 0", "minReadySeconds: 590").Replace(database)
	says(t, l.call(t, 1, next, "diff", "-f", "-").stderr.String(),
		"deployment.apps/db -n inner-loop: .spec.strategy: this rollout starts the new Pod while the old one uses PersistentVolumeClaim data (ReadWriteOnce)",
		"hint: set strategy: {type: Recreate}")

	// If it is applied anyway, the new Pod fails because the old one has the database's lock, and
	// the wait reports that while it hangs. Both Pods are on one node, where they can share the
	// volume.
	l.call(t, 0, next, "apply", "-f", "-")
	locked := l.pods(t, "db", "registry.example/db:2.0.0", 1)[0]
	l.reports(t, locked, `{"name":"db","image":"registry.example/db:2.0.0","imageID":"","ready":false,"restartCount":3,
		"state":{"waiting":{"reason":"CrashLoopBackOff"}},
		"lastState":{"terminated":{"exitCode":100,"reason":"Error","message":"DBPathInUse: unable to lock the lock file","startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:00:01Z"}}}`, "False")
	r := start(t, l.KubeconfigPath, "", "wait", "deploy/db", "-n", l.ns, "--stuck-after=1s", "--timeout=10m")
	r.hears(t, "VolumeShared")
	r.hears(t, "ContainerCrash")
	r.hears(t, "DBPathInUse")
	says(t, r.stderr.String(), "Pod "+old)

	// The suggested fix is applied, and the wait in progress succeeds.
	l.call(t, 0, strings.NewReplacer("minReadySeconds: 590", "minReadySeconds: 0\n  strategy: {type: Recreate}").Replace(next), "apply", "-f", "-")
	l.kubectl(t, "delete", "pod", locked, "-n", l.ns, "--wait=false")
	r.ends(t, 0)

	// The service is rebuilt and pushed with the same tag: nothing changes, and everything is
	// ready. The run warns about that once.
	message = l.call(t, 0, mended, "apply", "-f", "-").stderr.String()
	says(t, message, "warning: deployment.apps/web -n inner-loop is unchanged, so its Pods keep the image that they have: if registry.example/web:dev was pushed again")
	if n := strings.Count(message, "warning"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, message)
	}

	// One of the Pods was since created on a node without the image, and has the new one. Both are
	// ready; wait and owners distinguish them.
	for i, pod := range l.pods(t, "web", "registry.example/web:dev", 2) {
		digest := strings.Repeat(fmt.Sprint(i+1), 64)
		running := `"ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}`
		l.reports(t, pod, `{"name":"web","image":"registry.example/web:dev","imageID":"registry.example/web@sha256:`+digest+`",`+running+
			`,{"name":"sidecar","image":"registry.example/sidecar:1.0.0","imageID":"",`+running, "True")
	}
	r = l.call(t, 0, "", "wait", "deploy/web")
	says(t, r.stdout.String(), "met", "web runs registry.example/web:dev as sha256:111111111111: 1 Pod", "web runs registry.example/web:dev as sha256:222222222222: 1 Pod")
	says(t, r.stderr.String(), "nodes run different images under the same name registry.example/web:dev")
	says(t, l.call(t, 0, mended, "apply", "-f", "-", "--wait").stderr.String(), "nodes run different images under the same name registry.example/web:dev")
	says(t, l.call(t, 0, "", "owners", "deploy/web").stdout.String(), "web runs registry.example/web:dev as sha256:111111111111: 1 Pod")

	// With a new tag for each image, there is no warning.
	tagged := strings.Replace(mended, "web:dev", "web:main-3f2a9c1", 1)
	l.call(t, 0, tagged, "apply", "-f", "-", "--wait")
	if message := l.call(t, 0, tagged, "apply", "-f", "-").stderr.String(); message != "" {
		t.Errorf("says %q", message)
	}
}
