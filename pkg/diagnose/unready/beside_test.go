package unready_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Some faults do not keep the object from getting ready: those behind a load balancer that has no
// address yet, and those of Pods of an older revision, which will be replaced anyway. They are
// reported, but do not end a wait.
func TestUnrelatedFaultsDoNotEndWait(t *testing.T) {
	balancer := func(status, more string) string {
		return `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: prod, uid: s-1}, spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80, targetPort: http}]}, status: {loadBalancer: {` + status + `}}}` + more
	}
	pod := func(name, kind, label, state string) string {
		return fmt.Sprintf(`
---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s, namespace: prod, uid: %[1]s, labels: {app: web, %[3]s}, ownerReferences: [{kind: %[2]s, name: web, uid: w-1, controller: true}]},
  spec: {nodeName: node-1, containers: [{name: app, image: "registry.example/app:1"}]}, status: {phase: Pending, containerStatuses: [{name: app, image: a, state: %[4]s}]}}`, name, kind, label, state)
	}
	const gone = `{waiting: {reason: ImagePullBackOff, message: "rpc error: manifest unknown"}}`
	const slow = `{running: {}}`
	set := func(more string, ready int, pods ...string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: prod, uid: w-1, generation: 2}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, updateStrategy: {type: RollingUpdate}%s},
  status: {observedGeneration: 2, replicas: 2, readyReplicas: %d, availableReplicas: %[2]d, updatedReplicas: %[2]d, updateRevision: web-2}}`, more, ready) + strings.Join(pods, "")
	}
	daemons := func(ready int, pods ...string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: web, namespace: prod, uid: w-1, generation: 2, annotations: {deprecated.daemonset.template.generation: "2"}}, spec: {selector: {matchLabels: {app: web}}, updateStrategy: {type: RollingUpdate}},
  status: {observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, numberReady: %d, numberAvailable: %[1]d, updatedNumberScheduled: %[1]d}}`, ready) + strings.Join(pods, "")
	}
	const parallel = ", podManagementPolicy: Parallel"
	revision := func(n int) string { return fmt.Sprintf("controller-revision-hash: web-%d", n) }
	generation := func(n int) string { return fmt.Sprintf(`pod-template-generation: "%d"`, n) }
	for name, frames := range map[string][]frame{
		"a load balancer without Pods": {{0, balancer("", ""), nil}, {4 * time.Minute, balancer("ingress: [{ip: 192.0.2.1}]", ""), nil}},
		"a load balancer whose Pods lack the port": {
			{0, balancer("", pod("p", "StatefulSet", revision(2), slow)), nil},
			{4 * time.Minute, balancer("ingress: [{ip: 192.0.2.1}]", pod("p", "StatefulSet", revision(2), slow)), nil},
		},
		"a load balancer whose Pods do not start": {
			{0, balancer("", pod("p", "StatefulSet", revision(2), gone)), nil},
			{4 * time.Minute, balancer("ingress: [{ip: 192.0.2.1}]", pod("p", "StatefulSet", revision(2), gone)), nil},
		},
		"a StatefulSet that replaces a broken Pod last": {
			{0, set(parallel, 0, pod("web-0", "StatefulSet", revision(1), gone), pod("web-1", "StatefulSet", revision(2), slow)), nil},
			{4 * time.Minute, set(parallel, 2), nil},
		},
		"a DaemonSet that replaces a broken Pod last": {
			{0, daemons(0, pod("web-a", "DaemonSet", generation(1), gone), pod("web-b", "DaemonSet", generation(2), slow)), nil},
			{4 * time.Minute, daemons(2), nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if out := replay(t, frames, 10*time.Minute); out.err != nil || out.waited.Action != event.Met {
				t.Errorf("%s after %s: %s (%s)", out.waited.Action, out.after, out.waited.Note, codesOf(out.waited.Causes))
			}
		})
	}
	for name, frames := range map[string][]frame{
		"a StatefulSet that waits for its broken Pod": {{0, set("", 0, pod("web-0", "StatefulSet", revision(1), gone), pod("web-1", "StatefulSet", revision(2), slow)), nil}},
		"a broken Pod below the partition":            {{0, set(parallel+", ", 0, pod("web-0", "StatefulSet", revision(1), gone)), nil}},
		"a DaemonSet that replaces nothing":           {{0, strings.Replace(daemons(0, pod("web-a", "DaemonSet", generation(1), gone)), "RollingUpdate", "OnDelete", 1), nil}},
		"a DaemonSet's new Pod":                       {{0, daemons(0, pod("web-a", "DaemonSet", generation(2), gone)), nil}},
	} {
		if name == "a broken Pod below the partition" {
			frames[0].facts = strings.Replace(frames[0].facts, "{type: RollingUpdate}", "{type: RollingUpdate, rollingUpdate: {partition: 1}}", 1)
			frames[0].facts = strings.Replace(frames[0].facts, parallel+", ", parallel, 1)
		}
		t.Run(name, func(t *testing.T) {
			if out := replay(t, frames, time.Hour); out.waited.Action != event.Failed || !strings.Contains(out.waited.Note, "ImageNotFound") {
				t.Errorf("%s after %s: %s (%s)", out.waited.Action, out.after, out.waited.Note, codesOf(out.waited.Causes))
			} else if strings.Contains(name, "replaces nothing") != strings.Contains(codesOf(out.waited.Causes), "UpdateOnDelete") {
				t.Errorf("causes %s", codesOf(out.waited.Causes))
			}
		})
	}
}
