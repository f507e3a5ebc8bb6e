package e2e_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
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
			ns := namespace(t, c)
			first := file(t, strings.ReplaceAll(setOf, "VALUE", "1"))
			if by == "kubectl" {
				cmd := kubectlCommand(t, c, "apply", "-n", ns, "-f", first, "--prune", "--applyset=shop")
				cmd.Env = append(os.Environ(), "KUBECTL_APPLYSET=true")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			} else {
				k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", first, "--apply-set=shop").ends(t, 0)
			}
			what := func() string {
				t.Helper()
				return kubectl(t, c, "get", "configmap/leaves", "service/leaves", "configmap/stays", "-n", ns, "-o",
					`jsonpath={range .items[*]}{.metadata.labels}{.data}{.spec.ports[*].port}{.spec.selector}{"\n"}{end}`)
			}
			before := what()
			args := []string{"apply", "-n", ns, "-f", file(t, next), "--apply-set=shop", "--prune", "--yes", "--atomic", "--take=all"}
			r := start(t, c.KubeconfigPath, args...)
			r.until(t, "all is deleted but the object that hangs", func() bool {
				return kubectl(t, c, "get", "configmap/leaves", "service/leaves", "-n", ns, "--ignore-not-found", "-o", "name") == "" &&
					kubectl(t, c, "get", "configmap/hangs", "-n", ns, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
			})
			r.signal(t, syscall.SIGINT)
			r.wait(t)
			r.ends(t, 1).
				says(t, "restored    configmap/leaves").
				says(t, "restored    service/leaves").
				says(t, "restored    configmap/stays").
				says(t, "deleted     configmap/comes").
				says(t, "it is being deleted").
				says(t, "error: interrupted: interrupt signal received")
			if after := what(); after != before {
				t.Errorf("state after the rollback:\n%s\nwant the state before the run:\n%s\n%s", after, before, r)
			}
			if out := kubectl(t, c, "get", "configmap", "comes", "-n", ns, "--ignore-not-found"); out != "" {
				t.Errorf("the object that the run created still exists: %s", out)
			}
			kubectl(t, c, "patch", "configmap/hangs", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
			k8sconnect(t, c.KubeconfigPath, args...).ends(t, 0).says(t, "pruned      configmap/leaves")
		})
	}
}

// A run that loses its lock while it waits for readiness stops waiting at once, and reports the
// cause.
func TestLockLostWhileWaiting(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := namespace(t, c)
	r := start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, release("2")), "--apply-set=shop", "--wait", "--timeout=10m")
	r.until(t, "it waits", func() bool {
		return strings.Contains(kubectl(t, c, "get", "deployment", "-n", ns, "-o", "name"), "app")
	})
	kubectl(t, c, "patch", "lease", lease(t, c, ns), "-n", ns, "--type=merge", "-p", `{"spec":{"holderIdentity":"somebody"}}`)
	r.wait(t)
	r.ends(t, 1).says(t, "the lock of the set was lost: somebody took it over")
	if strings.Contains(r.stdout.String(), "timeout ") {
		t.Errorf("the lost lock is reported as a timeout: %s", r)
	}
}
