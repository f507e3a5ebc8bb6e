package unready_test

import (
	"strings"
	"testing"
)

// unscheduled returns a Pod with this message from the scheduler.
func unscheduled(message string) string {
	return `apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: prod, uid: pod-1}
spec:
  nodeSelector: {disk: ssd}
  containers:
  - {name: app, resources: {requests: {cpu: 500m, memory: 1Gi}}}
  - {name: proxy, resources: {requests: {cpu: 500m}}}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "` + message + `"}]
`
}

func TestUnscheduled(t *testing.T) {
	stories(t, map[string]story{
		"several reasons with numbers of nodes": {
			facts: unscheduled("0/6 nodes are available: 1 node(s) had untolerated taint {dedicated: gpu}, 2 node(s) didn't match Pod's node affinity/selector, 3 Insufficient cpu. preemption: 0/6 nodes are available: 3 No preemption victims found for incoming pod."),
			want: []string{"Unschedulable: pod/web-1 -n prod: fits none of 6 nodes: 3 have too little cpu; " +
				"2 have labels that do not match the Pod's nodeSelector or affinity; 1 has a taint that the Pod does not tolerate (dedicated: gpu)"},
			next:     "kubectl get nodes -o custom-columns=NODE:.metadata.name,CPU:.status.allocatable.cpu,MEMORY:.status.allocatable.memory,PODS:.status.allocatable.pods",
			evidence: []string{"it requests cpu 1, memory 1Gi", "nodeSelector disk=ssd"},
		},
		"selector": {
			facts: unscheduled("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."),
			want:  []string{"Unschedulable: pod/web-1 -n prod: fits none of 2 nodes: 2 have labels that do not match the Pod's nodeSelector or affinity"},
			next:  "kubectl get nodes -L disk",
		},
		"affinity": {
			facts: strings.Replace(unscheduled("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."), "  nodeSelector: {disk: ssd}",
				"  nodeSelector: {disk: ssd}\n  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "+
					"[{matchExpressions: [{key: zone, operator: In, values: [a]}]}, {matchExpressions: [{key: disk, operator: Exists}]}]}}}", 1),
			want: []string{"Unschedulable: pod/web-1 -n prod: fits none of 2 nodes: 2 have labels that do not match the Pod's nodeSelector or affinity"},
			next: "kubectl get nodes -L disk,zone",
		},
		"taints without a name": {
			facts: unscheduled("0/1 nodes are available: 1 node(s) had untolerated taint(s)."),
			want:  []string{"Unschedulable: pod/web-1 -n prod: fits none of 1 node: 1 has a taint that the Pod does not tolerate"},
			next:  "kubectl get nodes -o 'custom-columns=NODE:.metadata.name,TAINTS:.spec.taints[*].key'",
		},
		"volume node affinity": {
			facts: unscheduled("0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity."),
			want:  []string{"Unschedulable: pod/web-1 -n prod: fits none of 3 nodes: 3 have no access to one of the Pod's volumes (volume node affinity)"},
		},
		"a ReadWriteOncePod volume": {
			facts: unscheduled("0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod."),
			want:  []string{"Unschedulable: pod/web-1 -n prod: fits none of 2 nodes: 2 have one of the Pod's volumes in use by another Pod (ReadWriteOncePod)"},
		},
		"an unknown reason": {
			facts: unscheduled("0/3 nodes are available: 3 node(s) have the wrong colour, or none."),
			want:  []string{"Unschedulable: pod/web-1 -n prod: fits none of 3 nodes: node(s) have the wrong colour, or none"},
		},
		"a reason about the Pod": {
			facts: unscheduled("0/3 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim \\\"x\\\". preemption: none."),
			want:  []string{`Unschedulable: pod/web-1 -n prod: fits none of 3 nodes: waiting for ephemeral volume controller to create the persistentvolumeclaim "x"`},
		},
		"a Pod of a DaemonSet is for one node": {
			facts: strings.Replace(unscheduled("0/9 nodes are available: 1 Insufficient memory, 8 node(s) didn't match Pod's node affinity/selector."), "  nodeSelector",
				"  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-7]}]}]}}}\n  nodeSelector", 1),
			want:    []string{"Unschedulable: pod/web-1 -n prod: does not fit on its node: 1 has too little memory"},
			blocked: "node/node-7",
			next:    "kubectl describe node/node-7",
		},
		"no nodes": {
			facts: unscheduled("no nodes available to schedule pods"),
			want:  []string{"NoNodes: pod/web-1 -n prod: there are no nodes to run on"},
		},
		"something else": {
			facts: unscheduled("it rains"),
			want:  []string{"Unschedulable: pod/web-1 -n prod: fits no node: it rains"},
		},
		"no report": {
			facts: unscheduled(""),
			want:  []string{"NotScheduled: pod/web-1 -n prod: has no node yet, and scheduler default-scheduler has not reported why"},
		},
		"gated": {
			facts: `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: prod}, spec: {schedulingGates: [{name: example.com/a}, {name: example.com/b}]},
  status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated, message: gated}]}}`,
			want: []string{"SchedulingGated: pod/web-1 -n prod: is not scheduled until its scheduling gates are removed: example.com/a, example.com/b"},
		},
		"the claim is the cause": {
			facts:   unscheduled("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
			absent:  []string{"PersistentVolumeClaim/prod/data"},
			want:    []string{"ClaimMissing: pod/web-1 -n prod: mounts PersistentVolumeClaim data, which does not exist"},
			blocked: "persistentvolumeclaim/data -n prod",
			next:    "kubectl get persistentvolumeclaims -n prod",
		},
	})
}

// Pods with the same fault share one cause. The cause says how many they are, and how many Pods
// were not examined.
func TestPodsWithSameFaultShareCause(t *testing.T) {
	alike := func(name, labels string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, namespace: prod, uid: ` + name + `, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: rs-1, controller: true}]},
  spec: {nodeSelector: ` + labels + `}, status: {conditions: [{type: PodScheduled, status: "False", message: "0/1 nodes are available: 1 node(s) were unschedulable."}]}}`
	}
	facts := replicaSet(5)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		facts += "\n---\n" + alike(name, "{}")
	}
	stories(t, map[string]story{
		"five": {
			facts:    facts,
			want:     []string{"Unschedulable: 5 Pods: fits none of 1 node: 1 has been cordoned"},
			evidence: []string{"Pods: pod/a -n prod, pod/b -n prod, pod/c -n prod and 2 more"},
		},
		"one Pod has another fault": {
			facts: facts + "\n---\n" + `{apiVersion: v1, kind: Pod, metadata: {name: f, namespace: prod, uid: f, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: rs-1, controller: true}]},
  spec: {nodeName: gone}, status: {phase: Running}}`,
			absent: []string{"Node/gone"},
			want: []string{
				"NodeMissing: pod/f -n prod: is bound to node gone, which no longer exists",
				"Unschedulable: 5 Pods: fits none of 1 node: 1 has been cordoned",
			},
			next: "kubectl delete pod f --force --grace-period=0 -n prod",
		},
	})
}
