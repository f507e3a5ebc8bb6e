package readiness

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
)

// This is the second table of docs/readiness.md: cases in which our verdict differs from that of
// kstatus, and that kstatus's own tests lack. If kstatus changes to our verdict, the page has to
// change.
func TestVerdictsDifferingFromKstatus(t *testing.T) {
	custom := func(rest string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}, status: ` + rest + `}`
	}
	v1 := func(kind, status string) string {
		return `{apiVersion: v1, kind: ` + kind + `, metadata: {name: o}, status: ` + status + `}`
	}
	const refusal = "an error"
	for name, tc := range map[string]struct{ object, theirs, ours string }{
		"generation as text":                {custom(`{observedGeneration: "2", conditions: [{type: Ready, status: "True"}]}`), refusal, "Current"},
		"generation in a condition":         {custom(`{conditions: [{type: Ready, status: "True", observedGeneration: 1}]}`), "Current", "InProgress"},
		"Available":                         {custom(`{conditions: [{type: Available, status: "False"}]}`), "Current", "InProgress"},
		"malformed conditions":              {custom(`{conditions: {Ready: true}}`), refusal, "InProgress"},
		"stalled and reconciling":           {custom(`{conditions: [{type: Stalled, status: "True"}, {type: Reconciling, status: "True"}]}`), "Failed", "InProgress"},
		"no replicas, no status":            {`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r, generation: 1}, spec: {replicas: 0}}`, "Current", "InProgress"},
		"StatefulSet, OnDelete":             {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, generation: 1}, spec: {replicas: 1, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, replicas: 1}}`, "Current", "InProgress"},
		"StatefulSet, ready briefly":        {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, currentReplicas: 1, availableReplicas: 0}}`, "Current", "InProgress"},
		"DaemonSet, OnDelete":               {`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: s, generation: 1}, spec: {updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, desiredNumberScheduled: 1, currentNumberScheduled: 1, updatedNumberScheduled: 0, numberAvailable: 1, numberReady: 1}}`, "InProgress", "Current"},
		"Deployment, paused":                {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 1}, spec: {replicas: 1, paused: true, progressDeadlineSeconds: 600}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Progressing, status: Unknown, reason: DeploymentPaused}, {type: Available, status: "True"}]}}`, "InProgress", "InProgress"},
		"deadline of an older spec":         {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 1, managedFields: [{time: "2026-01-01T11:55:00Z", fieldsV1: {"f:spec": {}}}]}, spec: {replicas: 1, progressDeadlineSeconds: 600}, status: {observedGeneration: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, lastUpdateTime: "2026-01-01T10:00:00Z"}]}}`, "Failed", "InProgress"},
		"the first crash":                   {v1("Pod", `{phase: Running, containerStatuses: [{name: c, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {finishedAt: "2026-01-01T11:00:00Z"}}}]}`), "Failed", "InProgress"},
		"image cannot be pulled":            {v1("Pod", `{phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ImagePullBackOff}}}]}`), "InProgress", "Failed"},
		"Job, certain to fail":              {`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {startTime: "2026-01-01T10:00:00Z", conditions: [{type: FailureTarget, status: "True"}]}}`, "Current", "Failed"},
		"claim, lost":                       {v1("PersistentVolumeClaim", "{phase: Lost}"), "InProgress", "Failed"},
		"volume, failed":                    {v1("PersistentVolume", "{phase: Failed}"), "Current", "Failed"},
		"namespace":                         {v1("Namespace", "{phase: Terminating}"), "Current", "InProgress"},
		"not established":                   {`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d}, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "False", reason: NotAccepted}]}}`, "Failed", "InProgress"},
		"disruption budget without a count": {`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: p, generation: 1}, status: {}}`, "Current", "InProgress"},
	} {
		t.Run(name, func(t *testing.T) {
			u := parse(t, tc.object)
			theirs := refusal
			if r, err := status.Compute(u); err == nil {
				theirs = r.Status.String()
			}
			if theirs != tc.theirs {
				t.Errorf("kstatus says %s, want %s", theirs, tc.theirs)
			}
			if ours := inItsWords(For(u.GroupVersionKind()).Evaluate(u.Object, noon())); ours.String() != tc.ours {
				t.Errorf("we say %s, want %s", ours, tc.ours)
			}
		})
	}
}

func inItsWords(v Verdict) status.Status {
	switch {
	case v.Ready:
		return status.CurrentStatus
	case v.Failed:
		return status.FailedStatus
	}
	return status.InProgressStatus
}
