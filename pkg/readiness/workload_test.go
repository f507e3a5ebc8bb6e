package readiness

import (
	"strings"
	"testing"
)

func TestReadyDeployment(t *testing.T) {
	deployment := func(spec, status, conditions string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 2, managedFields: [
  {manager: kubectl, operation: Apply, time: "2026-01-01T11:50:00Z", fieldsV1: {"f:spec": {"f:replicas": {}}}},
  {manager: kubectl-label, operation: Update, time: "2026-01-01T11:59:59Z", fieldsV1: {"f:metadata": {"f:labels": {"f:x": {}}}}}]},
  spec: {progressDeadlineSeconds: 600` + spec + `}, status: {observedGeneration: 2` + status + `, conditions: [` + conditions + `]}}`
	}
	const (
		complete  = `{type: Progressing, status: "True", reason: NewReplicaSetAvailable}`
		updating  = `{type: Progressing, status: "True", reason: ReplicaSetUpdated}`
		available = `, {type: Available, status: "True"}`
		all       = ", replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3"
		gaveUpAt  = `{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, lastUpdateTime: "`
		paused    = `{type: Progressing, status: Unknown, reason: DeploymentPaused}`
	)
	// late returns a Deployment whose controller gave up at 11:40, and whose spec was changed at
	// the given time.
	late := func(changed string) string {
		return strings.ReplaceAll(deployment(", replicas: 3", ", replicas: 4, updatedReplicas: 1, availableReplicas: 3", gaveUpAt+`2026-01-01T11:40:00Z"}`+available), "2026-01-01T11:50:00Z", changed)
	}
	testReady(t, map[string]readyCase{
		"complete": {
			object: deployment(", replicas: 3", all, complete+available),
			want:   "ready, Ready: 3 of 3 replicas are available",
			rests:  []string{"self.status.availableReplicas: 3", "self.spec.replicas: 3"},
		},
		"not handled yet": {
			object: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 1}, spec: {replicas: 0}}`,
			want:   "not ready, NoStatus: no controller has handled it yet",
			rests:  []string{"self.status.observedGeneration is absent"},
		},
		"edge case 52: no replicas": {
			object: deployment(", replicas: 0", "", complete+available),
			want:   "ready, Ready: 0 of 0 replicas are available",
		},
		"edge case 52: no replicas, but one is left": {
			object: deployment(", replicas: 0", ", replicas: 1, updatedReplicas: 1", complete+available),
			want:   "not ready, InProgress: 1 surplus replica is left",
		},
		"new ones are missing": {
			object: deployment(", replicas: 3", ", replicas: 4, updatedReplicas: 1, availableReplicas: 3", updating+available),
			want:   "not ready, InProgress: 1 of 3 replicas are up to date",
			rests:  []string{"self.status.updatedReplicas: 1", "self.spec.replicas: 3"},
		},
		"an old one is left": {
			object: deployment(", replicas: 3", ", replicas: 4, updatedReplicas: 3, availableReplicas: 4", updating+available),
			want:   "not ready, InProgress: 1 old replica is left",
		},
		"too few are available": {
			object: deployment(", replicas: 3", ", replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 2", updating+available),
			want:   "not ready, InProgress: 2 of 3 replicas are available",
			rests:  []string{"self.status.availableReplicas: 2", "self.spec.replicas: 3"},
		},
		"Pods are refused": {
			object: deployment(", replicas: 1", "", `{type: ReplicaFailure, status: "True", reason: FailedCreate, message: "exceeded quota"}, `+updating),
			want:   "not ready, InProgress: 0 of 1 replica is up to date; Pods cannot be created (FailedCreate): exceeded quota",
		},
		"rollout not reported as complete": {
			object: deployment(", replicas: 3", all, updating+available),
			want:   "not ready, InProgress: its controller does not yet report the rollout as complete (ReplicaSetUpdated)",
		},
		"without a deadline or a condition Progressing": {
			object: deployment(", replicas: 3, progressDeadlineSeconds: 2147483647", all, `{type: Available, status: "True"}`),
			want:   "ready, Ready: 3 of 3 replicas are available",
		},
		"edge case 52: paused in the middle": {
			object: deployment(", replicas: 3, paused: true", ", replicas: 3, availableReplicas: 3", paused+available),
			want:   "not ready, Paused: it is paused: 0 of 3 replicas are up to date",
			rests:  []string{"self.spec.paused: true", "self.status.updatedReplicas is absent", "self.spec.replicas: 3"},
		},
		"edge case 52: paused, and nothing to roll out": {
			object: deployment(", replicas: 3, paused: true", all, paused+available),
			want:   "not ready, Paused: it is paused: changes are not rolled out; 3 of 3 replicas are available",
		},
		"paused, and a Pod is down": {
			object: deployment(", replicas: 3, paused: true", ", replicas: 3, updatedReplicas: 3, availableReplicas: 2", paused+available),
			want:   "not ready, InProgress: 2 of 3 replicas are available",
		},
		"paused after the progress deadline": {
			object: deployment(", replicas: 3, paused: true", ", replicas: 3, updatedReplicas: 1, availableReplicas: 2", gaveUpAt+`2026-01-01T11:58:00Z"}`),
			want:   "not ready, Paused: it is paused: 1 of 3 replicas are up to date",
		},
		"progress deadline exceeded": {
			object: deployment(", replicas: 3", ", replicas: 4, updatedReplicas: 1, availableReplicas: 3", gaveUpAt+`2026-01-01T11:58:00Z"}`+available),
			want:   "failed, ProgressDeadlineExceeded: it made no progress within its progressDeadlineSeconds (600 s): 1 of 3 replicas are up to date",
			rests:  []string{"self.status.updatedReplicas: 1", "self.spec.replicas: 3", `self.status.conditions[type="Progressing"].status: False`},
		},
		"edge case 52: progress deadline exceeded in an older generation": {
			object: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 3}, status: {observedGeneration: 2, conditions: [` + gaveUpAt + `2026-01-01T11:58:00Z"}]}}`,
			want:   "not ready, StaleStatus: its status is for generation 2, but the object is at generation 3",
		},
		"edge case 52: progress deadline exceeded before the last change to the spec": {
			object: late("2026-01-01T11:55:00Z"),
			want:   "not ready, InProgress: 1 of 3 replicas are up to date [again in 5m0s]",
		},
		"edge case 52: progress deadline exceeded at an unknown time": {
			object: late("2026-01-01T11:55:00Z"), timeless: true,
			want: "not ready, InProgress: 1 of 3 replicas are up to date",
		},
		"progress deadline exceeded after an old change to the spec": {
			object: late("2026-01-01T11:50:00Z"),
			want:   "failed, ProgressDeadlineExceeded: it made no progress within its progressDeadlineSeconds (600 s): 1 of 3 replicas are up to date",
		},
	})
}

func TestReadyReplicaSet(t *testing.T) {
	testReady(t, map[string]readyCase{
		"a ReplicationController": {
			object: `{apiVersion: v1, kind: ReplicationController, metadata: {name: r, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, fullyLabeledReplicas: 1, readyReplicas: 1, availableReplicas: 1}}`,
			want:   "ready, Ready: 1 of 1 replica is available",
		},
		"no replicas, and not handled yet": {
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r, generation: 1}, spec: {replicas: 0}}`,
			want:   "not ready, NoStatus: no controller has handled it yet",
		},
		"Pods are refused": {
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r, generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 0, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate}]}}`,
			want:   "not ready, ReplicaFailure: 0 of 2 replicas are created; Pods cannot be created (FailedCreate)",
		},
		"scaled down": {
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r, generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1, replicas: 2}}`,
			want:   "not ready, InProgress: 2 surplus replicas are left",
		},
	})
}

func TestReadyStatefulSet(t *testing.T) {
	set := func(strategy, status string) string {
		return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, generation: 2}, spec: {replicas: 3, updateStrategy: ` + strategy + `}, status: {observedGeneration: 2, replicas: 3` + status + `}}`
	}
	const (
		rolling = "{type: RollingUpdate, rollingUpdate: {partition: 0}}"
		up      = ", readyReplicas: 3, availableReplicas: 3"
		between = ", currentRevision: a, updateRevision: b"
	)
	testReady(t, map[string]readyCase{
		"complete": {
			object: set(rolling, up+", currentReplicas: 3, updatedReplicas: 3, currentRevision: b, updateRevision: b"),
			want:   "ready, Ready: 3 of 3 replicas are ready",
		},
		"all ready, but old": {
			object: set(rolling, up+", currentReplicas: 3"+between),
			want:   "not ready, InProgress: 0 of 3 replicas are up to date",
		},
		"ready, but not available": {
			object: set(rolling, ", readyReplicas: 3, availableReplicas: 1, updatedReplicas: 3"+between),
			want:   "not ready, InProgress: 1 of 3 replicas are available",
		},
		"edge case 52: up to the partition": {
			object: set("{type: RollingUpdate, rollingUpdate: {partition: 2}}", up+", currentReplicas: 2, updatedReplicas: 1"+between),
			want:   "ready, Ready: 3 of 3 replicas are ready; the partition holds back 2",
		},
		"edge case 52: not yet up to the partition": {
			object: set("{type: RollingUpdate, rollingUpdate: {partition: 1}}", up+", currentReplicas: 2, updatedReplicas: 1"+between),
			want:   "not ready, InProgress: 1 of 2 replicas are up to date; the partition holds back 1",
			rests:  []string{"self.status.updatedReplicas: 1", "self.spec.replicas: 3", "self.spec.updateStrategy.rollingUpdate.partition: 1"},
		},
		"edge case 52: a partition above the replicas": {
			object: set("{type: RollingUpdate, rollingUpdate: {partition: 9}}", up+", currentReplicas: 3"+between),
			want:   "ready, Ready: 3 of 3 replicas are ready; the partition holds back 3",
		},
		"edge case 52: OnDelete": {
			object: set("{type: OnDelete}", up+", currentReplicas: 2, updatedReplicas: 1"+between),
			want:   "ready, Ready: 3 of 3 replicas are ready; 2 remain outdated until deleted (OnDelete)",
		},
		"edge case 52: OnDelete, and one is down": {
			object: set("{type: OnDelete}", ", readyReplicas: 2, currentReplicas: 2, updatedReplicas: 1"+between),
			want:   "not ready, InProgress: 2 of 3 replicas are ready",
		},
		"edge case 52: no replicas": {
			object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1, replicas: 0, availableReplicas: 0}}`,
			want:   "ready, Ready: 0 of 0 replicas are ready",
		},
	})
}

func TestReadyDaemonSet(t *testing.T) {
	set := func(strategy, status string) string {
		return `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: s, generation: 2}, spec: {updateStrategy: {type: ` + strategy + `}}, status: {observedGeneration: 2, ` + status + `}}`
	}
	const up = "desiredNumberScheduled: 4, currentNumberScheduled: 4, numberAvailable: 4, numberReady: 4, updatedNumberScheduled: "
	testReady(t, map[string]readyCase{
		"complete": {
			object: set("RollingUpdate", up+"4"),
			want:   "ready, Ready: on 4 of 4 nodes its Pod is available",
		},
		"edge case 52: no nodes": {
			object: set("RollingUpdate", "desiredNumberScheduled: 0"),
			want:   "ready, Ready: no node should run its Pod",
		},
		"some Pods are old": {
			object: set("RollingUpdate", up+"3"),
			want:   "not ready, InProgress: on 3 of 4 nodes its Pod is up to date",
			rests:  []string{"self.status.updatedNumberScheduled: 3", "self.status.desiredNumberScheduled: 4"},
		},
		"edge case 52: OnDelete": {
			object: set("OnDelete", up+"3"),
			want:   "ready, Ready: on 4 of 4 nodes its Pod is available; 1 remain outdated until deleted (OnDelete)",
		},
		"some Pods are missing": {
			object: set("RollingUpdate", "desiredNumberScheduled: 4, currentNumberScheduled: 3"),
			want:   "not ready, InProgress: on 3 of 4 nodes its Pod is scheduled",
		},
	})
}
