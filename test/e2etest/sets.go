package e2etest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// Release returns a set of two ConfigMaps and a Deployment. The second ConfigMap exists from
// version 2; the Pods of version 2 fit no node.
func Release(version string) string {
	set := `
{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {value: "VERSION", kept: "1"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      NODES
      containers: [{name: app, image: "registry.example/app:VERSION"}]
`
	nodes := ""
	if version != "1" {
		set += "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: more}, data: {added: 'VERSION'}}\n"
		nodes = "nodeSelector: {kubernetes.io/hostname: none}"
	}
	return strings.NewReplacer("VERSION", version, "NODES", nodes).Replace(set)
}

// Held returns a ConfigMap with finalizers, which block its deletion.
func Held(name string, finalizers ...string) string {
	return fmt.Sprintf("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, finalizers: [%s]}}\n", name, strings.Join(finalizers, ", "))
}

// ValueOf returns the value in one of [ConfigMaps].
func ValueOf(t *testing.T, c *cluster.Cluster, ns, name string) string {
	t.Helper()
	return Kubectl(t, c, "get", "configmap/"+name, "-n", ns, "-o", "jsonpath={.data.value}")
}

// RecreatedJob is a Job whose image is IMAGE. A change of the image recreates it.
const RecreatedJob = `{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {suspend: true,
  template: {spec: {restartPolicy: Never, containers: [{name: app, image: "app:IMAGE"}]}}}}`

// Lease returns the name of a namespace's only Lease.
func Lease(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	return strings.TrimSpace(Kubectl(t, c, "get", "leases", "-n", ns, "-o", "jsonpath={.items[*].metadata.name}"))
}

// Without removes a ConfigMap from a set.
func Without(set, name string) string {
	docs := strings.Split(set, "---\n")
	return strings.Join(slices.DeleteFunc(docs, func(doc string) bool { return strings.Contains(doc, "name: "+name+"}") }), "---\n")
}
