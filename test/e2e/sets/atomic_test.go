package sets_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// setOf returns a set with objects that stay, objects to prune, and an object whose deletion hangs.
const setOf = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}, data: {value: "VALUE"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: leaves, labels: {team: shop}}, data: {value: "1"}}
---
{apiVersion: v1, kind: Service, metadata: {name: leaves}, spec: {selector: {app: leaves}, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: hangs, finalizers: [example.com/held]}, data: {value: "1"}}
`

// next is the set without three objects and with a new one.
const next = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}, data: {value: "2"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: comes}, data: {value: "2"}}
`

// If a prune does not finish and the run is interrupted, --atomic rolls it back: its writes, and
// the deletions of the prune. An object that is already terminating cannot be restored, and the report
// says so. It does not matter which program applied the pruned objects.
func TestAtomicFailedPrune(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	for _, by := range []string{"k8sconnect", "kubectl"} {
		t.Run(by, func(t *testing.T) {
			c := shared.Cluster(t)
			ns := e2etest.Namespace(t, c)
			first := e2etest.File(t, strings.ReplaceAll(setOf, "VALUE", "1"))
			if by == "kubectl" {
				cmd := e2etest.KubectlCommand(t, c, "apply", "-n", ns, "-f", first, "--prune", "--applyset=shop")
				cmd.Env = append(os.Environ(), "KUBECTL_APPLYSET=true")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			} else {
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", first, "--apply-set=shop").Ends(t, 0)
			}
			what := func() string {
				t.Helper()
				return e2etest.Kubectl(t, c, "get", "configmap/leaves", "service/leaves", "configmap/stays", "-n", ns, "-o",
					`jsonpath={range .items[*]}{.metadata.labels}{.data}{.spec.ports[*].port}{.spec.selector}{"\n"}{end}`)
			}
			before := what()
			args := []string{"apply", "-n", ns, "-f", e2etest.File(t, next), "--apply-set=shop", "--prune", "--yes", "--atomic", "--take=all"}
			r := e2etest.Start(t, c.KubeconfigPath, args...)
			r.Until(t, "all is deleted but the object that hangs", func() bool {
				return e2etest.Kubectl(t, c, "get", "configmap/leaves", "service/leaves", "-n", ns, "--ignore-not-found", "-o", "name") == "" &&
					e2etest.Kubectl(t, c, "get", "configmap/hangs", "-n", ns, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
			})
			r.Signal(t, syscall.SIGINT)
			r.Wait(t)
			r.Ends(t, 1).
				Says(t, "restored    configmap/leaves").
				Says(t, "restored    service/leaves").
				Says(t, "restored    configmap/stays").
				Says(t, "deleted     configmap/comes").
				Says(t, "it is being deleted").
				Says(t, "error: interrupted: interrupt signal received")
			if after := what(); after != before {
				t.Errorf("state after the rollback:\n%s\nwant the state before the run:\n%s\n%s", after, before, r)
			}
			if out := e2etest.Kubectl(t, c, "get", "configmap", "comes", "-n", ns, "--ignore-not-found"); out != "" {
				t.Errorf("the object that the run created still exists: %s", out)
			}
			e2etest.Kubectl(t, c, "patch", "configmap/hangs", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
			e2etest.Plugin(t, c.KubeconfigPath, args...).Ends(t, 0).Says(t, "pruned      configmap/leaves")
		})
	}
}

// A run that loses its lock while it waits for readiness stops waiting at once, and reports the
// cause.
func TestLockLostWhileWaiting(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	r := e2etest.Start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("2")), "--apply-set=shop", "--wait", "--timeout=10m")
	r.Until(t, "it waits", func() bool {
		return strings.Contains(e2etest.Kubectl(t, c, "get", "deployment", "-n", ns, "-o", "name"), "app")
	})
	e2etest.Kubectl(t, c, "patch", "lease", e2etest.Lease(t, c, ns), "-n", ns, "--type=merge", "-p", `{"spec":{"holderIdentity":"somebody"}}`)
	r.Wait(t)
	r.Ends(t, 1).Says(t, "the lock of the set was lost: somebody took it over")
	if strings.Contains(r.Stdout.String(), "timeout ") {
		t.Errorf("the lost lock is reported as a timeout: %s", r)
	}
}
