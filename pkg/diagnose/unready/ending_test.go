package unready_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// frame is the state of a cluster from one moment on: the object to wait for, then other objects.
type frame struct {
	at     time.Duration
	facts  string
	absent []string
}

// usual returns after how long a cause ends a wait by default; 0 means never.
func usual(c event.Cause) time.Duration {
	if l := unready.Lastings()[c.Code]; l.Ends {
		return l.After
	}
	return 0
}

// replay runs a wait for readiness, which causes may end, while the frames appear one after
// another.
func replay(t *testing.T, frames []frame, timeout time.Duration) heard {
	t.Helper()
	ready, err := condition.Parse("ready")
	if err != nil {
		t.Fatal(err)
	}
	var readers []*teller
	for _, f := range frames {
		objects := diagnosetest.Read(t, f.facts)
		readers = append(readers, &teller{Memory: diagnosetest.Memory{Objects: objects}, absent: f.absent})
	}
	s := &scene{reader: readers[0], live: readers[0].Objects[0]}
	return s.waitFor(t, object.RefOf(s.live), ready, timeout, usual, func() {
		for i, f := range frames[1:] {
			time.Sleep(f.at - frames[i].at)
			s.show(readers[i+1], readers[i+1].Objects[0])
		}
	})
}

// deployment returns a Deployment with one replica; ready is the number of ready Pods.
func deployment(ready int, spec string) string {
	available := "False"
	if ready == 1 {
		available = "True"
	}
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod, uid: d-1, generation: 2, annotations: {deployment.kubernetes.io/revision: "2"}}, spec: {replicas: 1, selector: {matchLabels: {app: web}}%s},
  status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: %d, availableReplicas: %[2]d, conditions: [{type: Available, status: "%s", reason: MinimumReplicas}, {type: Progressing, status: "True", reason: ReplicaSetUpdated}]}}`, spec, ready, available)
}

func revisionOf(revision, status string) string {
	return fmt.Sprintf(`
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-%[1]s, namespace: prod, uid: rs-%[1]s, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "%[1]s"}, ownerReferences: [{kind: Deployment, name: web, uid: d-1, controller: true}]}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {spec: {serviceAccountName: robot}}}, status: %[2]s}`, revision, status)
}

// podOf returns a Pod of a revision with one container in a state.
func podOf(revision, state string) string {
	ready := strings.Contains(state, "ready: true")
	status := map[bool]string{true: "True", false: "False"}[ready]
	return fmt.Sprintf(`
---
{apiVersion: v1, kind: Pod, metadata: {name: web-%[1]s-a, namespace: prod, uid: p-%[1]s, labels: {app: web, pod-template-hash: "%[1]s"}, ownerReferences: [{kind: ReplicaSet, name: web-%[1]s, uid: rs-%[1]s, controller: true}]},
  spec: {nodeName: node-1, containers: [{name: app, image: "registry.example/app:1", envFrom: [{secretRef: {name: keys}}], startupProbe: {httpGet: {path: /, port: 80}}}]}, status: {phase: Pending, conditions: [{type: Ready, status: "%[2]s"}], containerStatuses: [{name: app, %[3]s}]}}`, revision, status, state)
}

func waitingFor(reason, message string) string {
	return fmt.Sprintf("state: {waiting: {reason: %s, message: %q}}", reason, message)
}

const upAndReady = "ready: true, started: true, state: {running: {}}"

// rolling returns a Deployment with one new Pod, which is in the given state.
func rolling(state string) string {
	if state == upAndReady {
		return deployment(1, "") + revisionOf("2", "{replicas: 1, readyReplicas: 1}") + podOf("2", state)
	}
	return deployment(0, "") + revisionOf("2", "{replicas: 1}") + podOf("2", state)
}

// refusedPods returns a Deployment whose Pods are not created.
func refusedPods(message string) string {
	d := strings.Replace(deployment(0, ""), "conditions: [", `conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate}, `, 1)
	return d + revisionOf("2", `{replicas: 0, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: '`+message+`'}]}`)
}

// importing returns a Job.
func importing(failed int, active int, complete bool) string {
	conditions, succeeded := "", 0
	if complete {
		conditions, succeeded = `{type: Complete, status: "True"}`, 1
	}
	return fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: import, namespace: prod, uid: j-1}, spec: {backoffLimit: 6, completions: 1, parallelism: 1, selector: {matchLabels: {job: import}}},
  status: {active: %d, failed: %d, succeeded: %d, conditions: [%s]}}`, active, failed, succeeded, conditions)
}

// A wait for an object that will get ready does not end early, however long it takes and whatever
// goes wrong in the meantime.
func TestHealthyRolloutsAreNotEnded(t *testing.T) {
	const notFound = `Failed to pull image "registry.example/app:1": manifest unknown`
	creating := rolling(waitingFor("ContainerCreating", ""))
	pulling := func(message string) string { return rolling(waitingFor("ErrImagePull", message)) }
	pausing := func(message string) string { return rolling(waitingFor("ImagePullBackOff", message)) }
	crash := func(n int, state string) string {
		return rolling(fmt.Sprintf("restartCount: %d, lastState: {terminated: {exitCode: 1, reason: Error}}, state: {%s}", n, state))
	}
	const crashLoop = "waiting: {reason: CrashLoopBackOff}"
	ready := rolling(upAndReady)
	minutes := func(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }
	older := func(oldState, state string) string {
		return deployment(0, "") + revisionOf("1", "{replicas: 1}") + podOf("1", oldState) + revisionOf("2", "{replicas: 1}") + podOf("2", state)
	}
	keys := []string{"Secret/prod/keys"}
	for name, frames := range map[string][]frame{
		"a slow start": {
			{0, creating, nil}, {30 * time.Second, rolling("started: false, state: {running: {}}"), nil}, {minutes(4.5), ready, nil},
		},
		"a large image": {{0, creating, nil}, {minutes(4.5), ready, nil}},
		"a registry that is down for a while": {
			{0, creating, nil},
			{5 * time.Second, pulling("dial tcp: i/o timeout"), nil},
			{15 * time.Second, pausing("dial tcp: i/o timeout"), nil},
			{25 * time.Second, pulling("503 Service Unavailable"), nil},
			{35 * time.Second, pausing("503 Service Unavailable"), nil},
			{minutes(4), creating, nil},
			{minutes(4.2), ready, nil},
		},
		"an image that is pushed a minute later": {
			{0, creating, nil},
			{3 * time.Second, pulling(notFound), nil},
			{4 * time.Second, pausing(notFound), nil},
			{14 * time.Second, pulling(notFound), nil},
			{15 * time.Second, pausing(notFound), nil},
			{35 * time.Second, pulling(notFound), nil},
			{36 * time.Second, pausing(notFound), nil},
			{75 * time.Second, creating, nil},
			{minutes(4), ready, nil},
		},
		"a webhook that becomes available again": {
			{0, refusedPods(`Internal error occurred: failed calling webhook "gate.example.com": no endpoints available for service "gate"`), nil},
			{minutes(4), creating, nil},
			{minutes(4.5), ready, nil},
		},
		"quota that is freed later": {
			{0, refusedPods(`pods "web-x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=9, limited: pods=9`), nil},
			{minutes(4.5), creating, nil},
			{minutes(4.8), ready, nil},
		},
		"a Secret that an operator writes after 30 s": {
			{0, rolling(waitingFor("CreateContainerConfigError", "")), keys}, {30 * time.Second, creating, nil}, {minutes(2.5), ready, nil},
		},
		"a Secret whose creation is noticed late": {
			{0, rolling(waitingFor("CreateContainerConfigError", "")), keys},
			{100 * time.Second, rolling(waitingFor("ContainerCreating", "")), nil},
			{minutes(4.5), ready, nil},
		},
		"crashes before the database is up": {
			{0, creating, nil},
			{10 * time.Second, crash(1, crashLoop), nil},
			{20 * time.Second, crash(1, "running: {}"), nil},
			{22 * time.Second, crash(2, crashLoop), nil},
			{42 * time.Second, crash(2, "running: {}"), nil},
			{44 * time.Second, crash(3, crashLoop), nil},
			{minutes(3), ready, nil},
		},
		"nodes that are added": {
			{0, deployment(0, "") + revisionOf("2", "{replicas: 1}") + strings.Replace(strings.Replace(podOf("2", "state: {}"), "nodeName: node-1, ", "", 1),
				`{type: Ready`, `{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient cpu."}, {type: Ready`, 1), nil},
			{minutes(4), creating, nil},
			{minutes(4.5), ready, nil},
		},
		"a fault is fixed, and the rollout is slow": {
			{0, older(waitingFor("InvalidImageName", ""), waitingFor("ContainerCreating", "")), nil}, {minutes(4), ready, nil},
		},
		"broken Pods are replaced one by one": {
			{0, rolling(waitingFor("InvalidImageName", "")), nil},
			{10 * time.Second, older(waitingFor("InvalidImageName", ""), waitingFor("ContainerCreating", "")), nil},
			{minutes(4.5), ready, nil},
		},
		"a Job that retries": {
			{0, importing(0, 1, false), nil},
			{10 * time.Second, importing(1, 0, false), nil},
			{20 * time.Second, importing(1, 1, false), nil},
			{25 * time.Second, importing(2, 0, false), nil},
			{45 * time.Second, importing(2, 1, false), nil},
			{minutes(1), importing(3, 0, false), nil},
			{minutes(1.7), importing(3, 1, false), nil},
			{minutes(4.7), importing(3, 0, true), nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			last := frames[len(frames)-1].at
			out := replay(t, frames, 10*time.Minute)
			if out.err != nil || out.waited.Action != event.Met || out.after < last || out.after > last+time.Second {
				t.Errorf("got %s after %s, error %v, causes %s; want the wait to succeed after the last change", out.waited.Action, out.after, out.err, codesOf(out.waited.Causes))
			}
		})
	}
}

// A cause that does not pass ends the wait after its time, and not earlier. The result names the
// cause.
func TestFailingRolloutsAreEnded(t *testing.T) {
	notFound := waitingFor("ImagePullBackOff", "rpc error: manifest unknown")
	keys := []string{"Secret/prod/keys"}
	for code, frames := range map[string][]frame{
		"ImageNameInvalid":     {{0, rolling(waitingFor("ContainerCreating", "")), nil}, {5 * time.Second, rolling(waitingFor("InvalidImageName", "")), nil}},
		"ImageNotFound":        {{0, rolling(waitingFor("ContainerCreating", "")), nil}, {5 * time.Second, rolling(notFound), nil}},
		"SecretMissing":        {{0, rolling(waitingFor("CreateContainerConfigError", "")), keys}},
		"ContainerConfigError": {{0, rolling(waitingFor("CreateContainerConfigError", "couldn't find key k in Secret prod/keys")), nil}},
		"PodSecurityViolation": {{0, refusedPods(`pods "web-x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`) +
			"\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {pod-security.kubernetes.io/enforce: restricted}}}", nil}},
		"ServiceAccountMissing": {{
			0, refusedPods(`pods "web-x" is forbidden: error looking up service account prod/robot: serviceaccount "robot" not found`), []string{"ServiceAccount/prod/robot"},
		}},
		"VolumeDeadlock": {{0, deployment(0, ", strategy: {rollingUpdate: {maxUnavailable: 0}}") + revisionOf("1", "{replicas: 1}") + revisionOf("2", "{replicas: 1}") +
			"\n---\n" + mounting("old", "1", "node-1", `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`) +
			"\n---\n" + mounting("new", "2", "node-2", `{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}`) +
			"\n---\n" + claim(", volumeName: pv-1", "{phase: Bound}"), nil}},
	} {
		t.Run(code, func(t *testing.T) {
			lasting := unready.Lastings()[code]
			from := frames[len(frames)-1].at
			out := replay(t, frames, time.Hour)
			var unmet *wait.UnmetError
			if !errors.As(out.err, &unmet) || unmet.Failed != 1 || out.waited.Action != event.Failed {
				t.Fatalf("%s after %s: %v", out.waited.Action, out.after, out.err)
			}
			if least, most := from+lasting.After, from+soon+lasting.After+20*time.Second; out.after < least || out.after > most {
				t.Errorf("after %s, want between %s and %s", out.after, least, most)
			}
			if !strings.HasPrefix(codesOf(out.waited.Causes), code) || !strings.Contains(out.waited.Note, "ended early: "+code) {
				t.Errorf("note %q and causes %q do not start with the expected code", out.waited.Note, codesOf(out.waited.Causes))
			}
		})
	}
}

// A cause ends a wait only if it still exists at that moment. In this test, the Secret is created
// after the search for it.
func TestCauseIsCheckedAgainBeforeEnding(t *testing.T) {
	stuck := rolling(waitingFor("CreateContainerConfigError", ""))
	lasting := unready.Lastings()["SecretMissing"]
	for _, before := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second} {
		out := replay(t, []frame{
			{0, stuck, []string{"Secret/prod/keys"}}, {15*time.Second + lasting.After - before, stuck, nil}, {9 * time.Minute, rolling(upAndReady), nil},
		}, 10*time.Minute)
		// Once the Secret exists, only the kubelet's report remains. The time of that cause begins
		// then.
		if out.waited.Action != event.Failed || strings.Contains(codesOf(out.waited.Causes), "SecretMissing") {
			t.Errorf("Secret created %s before the end: got %s, causes %s", before, out.waited.Action, codesOf(out.waited.Causes))
		}
	}
}

// recordedRefusals returns refusals that a controller has recorded, and that no rule can check.
func recordedRefusals() map[string]string {
	return map[string]string{
		"LimitRangeViolation":  `pods "web-x" is forbidden: maximum cpu usage per Container is 1, but limit is 4`,
		"PolicyDenied":         `pods "web-x" is forbidden: ValidatingAdmissionPolicy ''no-root'' with binding ''b'' denied request: no`,
		"QuotaNeedsResources":  `pods "web-x" is forbidden: failed quota: compute: must specify limits.cpu for: app`,
		"PodSecurityViolation": `pods "web-x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`,
	}
}

// triedAt returns a Deployment whose controller was last refused at a time.
func triedAt(message string, at time.Duration) string {
	return refusedPods(message) + fmt.Sprintf(`
---
{apiVersion: v1, kind: Event, metadata: {name: e, namespace: prod, uid: e}, type: Warning, reason: FailedCreate, message: 'Error creating: %s', involvedObject: {uid: rs-2}, lastTimestamp: %q}`,
		message, diagnosetest.Now().Add(at).Format(time.RFC3339)) + limits
}

// A controller that was refused retries at growing intervals. So its message may still be there
// when the reason is gone.
func TestOldRefusalDoesNotEndWait(t *testing.T) {
	const minute = time.Minute
	for code, message := range recordedRefusals() {
		for name, frames := range map[string][]frame{
			"fixed after the last attempt": {
				{0, triedAt(message, 0), nil}, {41 * time.Second, triedAt(message, 41*time.Second), nil}, {4 * minute, rolling(upAndReady), nil},
			},
			"fixed before the wait":     {{0, triedAt(message, -10*minute), nil}, {5 * minute, rolling(upAndReady), nil}},
			"events cannot be read":     {{0, refusedPods(message), nil}, {5 * minute, rolling(upAndReady), nil}},
			"an old refusal":            {{0, triedAt(message, -time.Hour), nil}, {5 * minute, rolling(upAndReady), nil}},
			"another fault comes first": {{0, triedAt(message, 0), nil}, {50 * time.Second, triedAt("exceeded quota: q, requested: pods=1", 50*time.Second), nil}, {5 * minute, rolling(upAndReady), nil}},
		} {
			t.Run(code+"/"+name, func(t *testing.T) {
				if out := replay(t, frames, 10*minute); out.err != nil || out.waited.Action != event.Met {
					t.Errorf("%s after %s: %s (%s)", out.waited.Action, out.after, out.waited.Note, codesOf(out.waited.Causes))
				}
			})
		}
	}
}

// A refusal ends the wait only when the controller is refused again after the cause's time is over,
// even if that is late.
func TestLastingRefusalEndsWait(t *testing.T) {
	for code, message := range recordedRefusals() {
		t.Run(code, func(t *testing.T) {
			lasting := unready.Lastings()[code]
			var frames []frame
			for _, at := range []time.Duration{0, 10, 20, 41, 82, 164, 328} { // as a ReplicaSet's controller does
				frames = append(frames, frame{at * time.Second, triedAt(message, at*time.Second), nil})
			}
			last := frames[4].at // the first attempt after a minute
			if lasting.After > time.Minute {
				last = frames[5].at
			}
			out := replay(t, frames, time.Hour)
			if out.waited.Action != event.Failed || out.after < last || out.after > last+40*time.Second {
				t.Errorf("%s after %s, want failed soon after %s: %s", out.waited.Action, out.after, last, out.waited.Note)
			}
		})
	}
}
