package readiness

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
)

// kstatusCases are the cases of kstatus's own tests, with the names that they have there. differs
// is the reason if our verdict differs (docs/readiness.md).
func kstatusCases() map[string]kstatusCase {
	const (
		failedPod  = "a Pod that failed has not got ready"
		silent     = "edge case 48: the absence of bad news does not make it ready"
		runningJob = "a running Job has not completed"
		noAddress  = "a load balancer is ready when it has an address"
	)
	pod := func(rest string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: test, generation: 1` + rest + `}`
	}
	unschedulable := `}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}`
	claim := `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: test, generation: 1}`
	apps := func(kind, replicas, status string) string {
		spec := ""
		if replicas != "" {
			spec = ", spec: {replicas: " + replicas + "}"
		}
		return `{apiVersion: apps/v1, kind: ` + kind + `, metadata: {name: test, generation: 1}` + spec + status + `}`
	}
	daemon := func(generation, status string) string {
		return `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: test, generation: ` + generation + `}` + status + `}`
	}
	deployed := func(spec, conditions string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: test, generation: 1}` + spec + `, status: {observedGeneration: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, replicas: 1, conditions: [` + conditions + `]}}`
	}
	const available, complete = `{type: Available, status: "True"}`, `{type: Progressing, status: "True", reason: NewReplicaSetAvailable}`
	budget := func(generation string) string {
		return `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: test, generation: ` + generation + `}, status: {observedGeneration: 1}}`
	}
	// kstatus uses a group without a dot, which no custom resource can have.
	custom := func(generation, rest string) string {
		return `{apiVersion: something.example/v1, kind: MyCR, metadata: {name: test, generation: ` + generation + `}` + rest + `}`
	}
	job := func(rest string) string {
		return `{apiVersion: batch/v1, kind: Job, metadata: {name: test, generation: 1}` + rest + `}`
	}
	cron := func(rest string) string {
		return `{apiVersion: batch/v1, kind: CronJob, metadata: {name: test, generation: 1}` + rest + `}`
	}
	service := func(rest string) string {
		return `{apiVersion: v1, kind: Service, metadata: {name: test, generation: 1}` + rest + `}`
	}
	definition := func(conditions string) string {
		return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: test, generation: 1}, status: {conditions: [` + conditions + `]}}`
	}
	return map[string]kstatusCase{
		"podNoStatus":              {object: pod("}")},
		"podReady":                 {object: pod(`}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}`)},
		"podCompletedSuccessfully": {object: pod(`}, status: {phase: Succeeded, conditions: [{type: Ready, status: "False", reason: PodCompleted}]}`)},
		"podCompletedFailed":       {object: pod(`}, status: {phase: Failed, conditions: [{type: Ready, status: "False", reason: PodCompleted}]}`), differs: failedPod},
		// kstatus reads the clock. With this time, the Pod is new for kstatus and for us.
		"podBeingScheduled": {object: pod(`, creationTimestamp: "2999-01-01T00:00:00Z"` + unschedulable)},
		"podUnschedulable":  {object: pod(unschedulable)},
		"podCrashLooping":   {object: pod(`}, status: {phase: Running, containerStatuses: [{name: nginx, state: {waiting: {reason: CrashLoopBackOff}}}], conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}`)},

		"pvcNoStatus": {object: claim + "}"},
		"pvcBound":    {object: claim + ", status: {phase: Bound}}"},

		"stsNoStatus":    {object: apps("StatefulSet", "", "")},
		"stsBadStatus":   {object: apps("StatefulSet", "", ", status: {observedGeneration: 1, currentReplicas: 1}")},
		"stsOK":          {object: apps("StatefulSet", "4", ", status: {observedGeneration: 1, currentReplicas: 4, readyReplicas: 4, replicas: 4}")},
		"stsLessReady":   {object: apps("StatefulSet", "4", ", status: {observedGeneration: 1, currentReplicas: 4, readyReplicas: 2, replicas: 4}")},
		"stsLessCurrent": {object: apps("StatefulSet", "4", ", status: {observedGeneration: 1, currentReplicas: 2, readyReplicas: 4, replicas: 4}")},
		"stsExtraPods":   {object: apps("StatefulSet", "4", ", status: {observedGeneration: 1, currentReplicas: 4, readyReplicas: 4, replicas: 8}")},

		"dsNoStatus":            {object: daemon("1", "")},
		"dsBadStatus":           {object: daemon("1", ", status: {observedGeneration: 1, currentReplicas: 1}")},
		"dsOK":                  {object: daemon("1", ", status: {observedGeneration: 1, desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 4, numberReady: 4}")},
		"dsLessReady":           {object: daemon("1", ", status: {observedGeneration: 1, desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 4, numberReady: 2}")},
		"dsDifferentGeneration": {object: daemon("2", ", status: {observedGeneration: 1, desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 4, numberReady: 4}")},
		"dsLessAvailable":       {object: daemon("1", ", status: {observedGeneration: 1, desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 2, numberReady: 4}")},

		"depNoStatus":                  {object: apps("Deployment", "", "")},
		"depOK":                        {object: deployed("", complete+", "+available)},
		"depNotProgressing":            {object: deployed(", spec: {progressDeadlineSeconds: 45}", `{type: Progressing, status: "False", reason: Some reason}, `+available)},
		"depNoProgressDeadlineSeconds": {object: deployed("", available)},
		"depNotAvailable":              {object: deployed("", complete+`, {type: Available, status: "False"}`)},

		"rsNoStatus":       {object: apps("ReplicaSet", "", "")},
		"rsOK1":            {object: apps("ReplicaSet", "2", `, status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 2, fullyLabeledReplicas: 2, conditions: [{type: ReplicaFailure, status: "False"}]}`)},
		"rsOK2":            {object: apps("ReplicaSet", "2", ", status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 2, fullyLabeledReplicas: 2}")},
		"rsLessAvailable":  {object: apps("ReplicaSet", "4", ", status: {observedGeneration: 1, replicas: 4, readyReplicas: 4, availableReplicas: 2, fullyLabeledReplicas: 4}")},
		"rsLessReady":      {object: apps("ReplicaSet", "4", ", status: {observedGeneration: 1, replicas: 4, readyReplicas: 2, availableReplicas: 4, fullyLabeledReplicas: 4}")},
		"rsReplicaFailure": {object: apps("ReplicaSet", "4", `, status: {observedGeneration: 1, replicas: 4, readyReplicas: 4, availableReplicas: 4, fullyLabeledReplicas: 4, conditions: [{type: ReplicaFailure, status: "True"}]}`)},

		"pdbNotObserved": {object: budget("2")},
		"pdbObserved":    {object: budget("1")},

		"crdNoStatus":                 {object: custom("1", ""), differs: silent},
		"crdMismatchStatusGeneration": {object: custom("2", ", status: {observedGeneration: 1}")},
		"crdReady":                    {object: custom("1", `, status: {conditions: [{type: Ready, status: "True", message: All looks ok, reason: AllOk}]}`)},
		"crdNotReady":                 {object: custom("1", `, status: {observedGeneration: 1, conditions: [{type: Ready, status: "False", reason: NotReadyYet}]}`)},
		"crdNoCondition":              {object: custom("1", `, status: {conditions: [{type: SomeCondition, status: "False"}]}`), differs: silent},

		"jobNoStatus":   {object: job("")},
		"jobComplete":   {object: job(`, status: {succeeded: 1, active: 0, conditions: [{type: Complete, status: "True"}]}`)},
		"jobFailed":     {object: job(`, spec: {completions: 4}, status: {succeeded: 3, failed: 1, conditions: [{type: Failed, status: "True", reason: JobFailed}]}`)},
		"jobInProgress": {object: job(`, spec: {completions: 10, parallelism: 2}, status: {startTime: "2019-06-04T01:17:13Z", succeeded: 3, failed: 1, active: 2, conditions: [{type: Failed, status: "False"}, {type: Complete, status: "False"}]}`), differs: runningJob},

		"cronjobNoStatus":   {object: cron("")},
		"cronjobWithStatus": {object: cron(", status: {}")},

		"serviceDefault":  {object: service("")},
		"serviceNodePort": {object: service(", spec: {type: NodePort}")},
		"serviceLBok":     {object: service(`, spec: {type: LoadBalancer, clusterIP: "1.2.3.4"}`), differs: noAddress},
		"serviceLBnok":    {object: service(", spec: {type: LoadBalancer}")},

		"crdNoConditions":     {object: definition("")},
		"crdInstalling":       {object: definition(`{type: NamesAccepted, status: "True"}, {type: Established, status: "False", reason: Installing}`)},
		"crdNamesNotAccepted": {object: definition(`{type: NamesAccepted, status: "False", reason: SomeReason}`)},
		"crdEstablished":      {object: definition(`{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}`)},
	}
}

type kstatusCase struct {
	object, differs string
}

// The test runs kstatus itself. So it fails if a newer version of kstatus has another verdict.
func TestCompareWithKstatus(t *testing.T) {
	for name, tc := range kstatusCases() {
		t.Run(name, func(t *testing.T) {
			u := parse(t, tc.object)
			theirs, err := status.Compute(u)
			if err != nil {
				t.Fatal(err)
			}
			v := For(u.GroupVersionKind()).Evaluate(u.Object, noon())
			if same := inItsWords(v) == theirs.Status; same != (tc.differs == "") {
				t.Errorf("kstatus: %s, ours: %s, which does not match the difference listed, %q", theirs.Status, inWords(v), tc.differs)
			}
		})
	}
}
