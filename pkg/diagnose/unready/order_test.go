package unready_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// faulty is a fault of a Pod, and how far the Pod came.
type faulty struct {
	code string
	// spec and status are of the Pod; %s is its name.
	spec, status string
	// beside are further documents, such as the Pod's events.
	beside string
	// stage counts how far the Pod came. A fault may be a symptom of one at an earlier stage in
	// another Pod, but never the reverse: a Pod whose image is missing does not need the other.
	stage int
}

const (
	itsOwn = iota
	ranAndEnded
	runs
	waits
	nothingWrong
)

// faults has a Pod for each stage at which a Pod can be stuck.
func faults() []faulty {
	container := func(state string) string {
		return `phase: Pending, conditions: [{type: PodScheduled, status: "True"}], containerStatuses: [{name: app, image: a, ready: false, restartCount: 3, ` + state + `}]`
	}
	const bound = `nodeName: node-1, containers: [{name: app, image: a, readinessProbe: {tcpSocket: {port: 80}}}]`
	event := func(reason, message string) string {
		return `{apiVersion: v1, kind: Event, metadata: {name: %[1]s-` + strings.ToLower(reason) + `, namespace: prod}, type: Warning, reason: ` + reason + `, message: "` + message + `", involvedObject: {kind: Pod, uid: %[1]s, name: %[1]s, namespace: prod}, lastTimestamp: "2026-01-01T11:59:00Z"}`
	}
	const creating = `state: {waiting: {reason: ContainerCreating}}`
	return []faulty{
		{"ImagePullFailed", bound, container(`state: {waiting: {reason: ErrImagePull, message: refused}}`), "", itsOwn},
		{"ContainerConfigError", bound, container(`state: {waiting: {reason: CreateContainerConfigError, message: no key}}`), "", itsOwn},
		{"ContainerNotStarted", bound, container(`state: {waiting: {reason: CreateContainerError, message: odd}}`), "", itsOwn},
		{"Unschedulable", "containers: [{name: app}]", `phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available: 1 Insufficient cpu."}]`, "", itsOwn},
		{"SchedulingGated", "schedulingGates: [{name: g}], containers: [{name: app}]", `phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]`, "", itsOwn},
		{"SecretMissing", `nodeName: node-1, volumes: [{name: v, secret: {secretName: gone}}], containers: [{name: app}]`, container(creating), "", itsOwn},
		{"ClaimMissing", "volumes: [{name: v, persistentVolumeClaim: {claimName: gone}}], containers: [{name: app}]", `phase: Pending`, "", itsOwn},
		{
			"StorageClassMissing", "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], containers: [{name: app}]", `phase: Pending`,
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: prod, uid: pvc}, spec: {storageClassName: gone}, status: {phase: Pending}}`, itsOwn,
		},
		{"SandboxFailed", bound, container(creating), event("FailedCreatePodSandBox", "no network"), itsOwn},
		{"VolumeNotMounted", bound, `phase: Pending, containerStatuses: [{name: app, image: a, ready: false, ` + creating + `}]`, event("FailedMount", "MountVolume.SetUp failed"), itsOwn},
		{
			"NodeNotReady", `nodeName: sick, containers: [{name: app}]`, `phase: Running`,
			`{apiVersion: v1, kind: Node, metadata: {name: sick}, status: {conditions: [{type: Ready, status: Unknown}]}}`, itsOwn,
		},
		{"ContainerCrash", bound, container(`state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error}}`), "", ranAndEnded},
		{"OOMKilled", bound, container(`state: {terminated: {exitCode: 137, reason: OOMKilled}}`), "", itsOwn},
		{"CommandNotFound", bound, container(`state: {terminated: {exitCode: 127}}`), "", itsOwn},
		{"ContainerExits", "restartPolicy: Always, " + bound, container(`state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 0, reason: Completed}}`), "", ranAndEnded},
		{"ReadinessProbeFailing", bound, `phase: Running, containerStatuses: [{name: app, image: a, started: true, ready: false, restartCount: 0, state: {running: {}}}]`, "", runs},
		{"ReadinessGate", "readinessGates: [{conditionType: example.com/lb}], " + bound, `phase: Running, conditions: [{type: ContainersReady, status: "True"}], containerStatuses: [{name: app, image: a, started: true, ready: true, state: {running: {}}}]`, "", runs},
		{"InitContainerRunning", "initContainers: [{name: wait}], " + bound, `phase: Pending, initContainerStatuses: [{name: wait, image: a, state: {running: {}}}]`, "", waits},
		{"Starting", bound, `phase: Pending, containerStatuses: [{name: app, image: a, ready: false, ` + creating + `}]`, "", nothingWrong},
		{"NotScheduled", "containers: [{name: app}]", `phase: Pending`, "", nothingWrong},
	}
}

// pods returns n Pods with the fault, each owned by an object.
func (f faulty) pods(prefix string, n int, labels, owner string) string {
	var out []string
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i)
		out = append(out, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %[1]s, namespace: prod, uid: %[1]s, labels: {%[2]s}, ownerReferences: [%[3]s]}, spec: {%[4]s}, status: {%[5]s}}`,
			name, labels, owner, f.spec, f.status))
		if strings.Contains(f.beside, "%[1]s") {
			out = append(out, fmt.Sprintf(f.beside, name))
		} else if f.beside != "" && i == 0 {
			out = append(out, f.beside)
		}
	}
	return strings.Join(out, "\n---\n")
}

// absences are the objects that the faults miss.
var absences = []string{"Secret/prod/gone", "PersistentVolumeClaim/prod/gone", "StorageClass.storage.k8s.io//gone"}

func diagnosedIn(t *testing.T, facts ...string) []event.Cause {
	t.Helper()
	facts = slices.DeleteFunc(facts, func(s string) bool { return s == "" })
	return story{facts: strings.Join(facts, "\n---\n"), absent: absences}.diagnosed(t)
}

// before fails the test unless a cause comes before another.
func before(t *testing.T, causes []event.Cause, first, second string) {
	t.Helper()
	at := func(code string) int {
		return slices.IndexFunc(causes, func(c event.Cause) bool { return c.Code == code })
	}
	if i, j := at(first), at(second); i < 0 || j < 0 || i > j {
		t.Errorf("%s must come before %s, but the causes are: %s", first, second, codesOf(causes))
	}
}

const ownedByWidget = `{apiVersion: example.com/v1, kind: Widget, name: w, uid: w-1, controller: true}`

// A fault at an earlier stage comes first, however many Pods show the later one, and whichever is
// listed first: a Pod that waits, crashes or does not answer may need the one that never ran.
func TestFaultsOfEarlierStagesComeFirst(t *testing.T) {
	for _, root := range faults() {
		for _, symptom := range faults() {
			if root.stage >= symptom.stage {
				continue
			}
			t.Run(root.code+" "+symptom.code, func(t *testing.T) {
				for _, n := range [][2]int{{1, 1}, {1, 3}, {3, 1}} {
					roots, symptoms := root.pods("root", n[0], "", ownedByWidget), symptom.pods("symptom", n[1], "", ownedByWidget)
					before(t, diagnosedIn(t, widget("", ""), roots, symptoms), root.code, symptom.code)
					before(t, diagnosedIn(t, widget("", ""), symptoms, roots), root.code, symptom.code)
				}
			})
		}
	}
}

// The status of an owner that sums up its Pods comes after their faults.
func TestStatusOfAnOwnerComesAfterFaults(t *testing.T) {
	const podsOfDeployment = `{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: rs-1, controller: true}`
	owners := map[string]struct {
		owner, reference, want string
	}{
		"Ready=False":   {owner: widget("", `, status: {conditions: [{type: Ready, status: "False", message: waiting}]}`), want: "ConditionFalse"},
		"Ready=Unknown": {owner: widget("", `, status: {conditions: [{type: Ready, status: Unknown, message: waiting}]}`), want: "ConditionUnknown"},
		"Degraded":      {owner: widget("", `, status: {conditions: [{type: Degraded, status: "True", message: 0 of 1 Pods}]}`), want: "Stalled"},
		"Stalled":       {owner: widget("", `, status: {conditions: [{type: Stalled, status: "True", message: timed out}]}`), want: "Stalled"},
		"Failed":        {owner: widget("", `, status: {conditions: [{type: Failed, status: "True", message: timed out}]}`), want: "Stalled"},
		"phase":         {owner: widget("", `, status: {phase: Failed}`), want: "StatusSays"},
		"Reconciling":   {owner: widget("", `, status: {conditions: [{type: Reconciling, status: "True"}]}`), want: "Reconciling"},
		"the deadline": {
			owner: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod, uid: d-1}, spec: {replicas: 3, ` + everyPod + `}, status: {conditions: [{type: Available, status: "False", message: no minimum availability}, {type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs, namespace: prod, uid: rs-1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d-1, controller: true}]}, spec: {replicas: 3}, status: {replicas: 3}}`,
			reference: podsOfDeployment, want: "ProgressDeadlineExceeded",
		},
		"a Job": {
			owner:     `{apiVersion: batch/v1, kind: Job, metadata: {name: job, namespace: prod, uid: j-1}, spec: {` + everyPod + `}, status: {failed: 3, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]}}`,
			reference: `{apiVersion: batch/v1, kind: Job, name: job, uid: j-1, controller: true}`, want: "JobBackoffLimit",
		},
		"a Service": {
			owner: `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: prod, uid: s-1}, spec: {selector: {app: web}, ports: [{port: 80}]}}`, want: "NoReadyEndpoints",
		},
	}
	rejected := faulty{"PodRejected", "nodeName: node-1, containers: [{name: app}]", "phase: Failed, reason: OutOfcpu", "", itsOwn}
	for name, o := range owners {
		for _, fault := range append(faults(), rejected) {
			if fault.stage == nothingWrong || fault.code == "PodRejected" && name != "the deadline" {
				continue
			}
			t.Run(name+" "+fault.code, func(t *testing.T) {
				reference := o.reference
				if reference == "" {
					reference = ownedByWidget
				}
				for _, n := range []int{1, 3} {
					before(t, diagnosedIn(t, o.owner, fault.pods("p", n, "app: web", reference)), fault.code, o.want)
				}
			})
		}
	}
}

// A fault of an older revision, whose Pods the controller replaces anyway, comes after a fault of
// the latest.
func TestFaultsOfOlderRevisionsComeLast(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod, uid: d-1, annotations: {deployment.kubernetes.io/revision: "2"}}, spec: {replicas: 3, ` + everyPod + `}}`
	set := func(n int) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs-%[1]d, namespace: prod, uid: rs-%[1]d, annotations: {deployment.kubernetes.io/revision: "%[1]d"}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d-1, controller: true}]}, spec: {replicas: 3}, status: {replicas: 3}}`, n)
	}
	of := func(n int) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, name: rs-%[1]d, uid: rs-%[1]d, controller: true}`, n)
	}
	for _, old := range faults() {
		for _, latest := range faults() {
			if old.code == latest.code || latest.stage == nothingWrong {
				continue
			}
			t.Run(old.code+" "+latest.code, func(t *testing.T) {
				before(t, diagnosedIn(t, deployment, set(1), set(2), old.pods("old", 2, "", of(1)), latest.pods("latest", 1, "", of(2))), latest.code, old.code)
			})
		}
	}
}

// The containers of a Pod follow the same order, whichever is listed first.
func TestContainersOfEarlierStagesComeFirst(t *testing.T) {
	states := []struct {
		code, state string
		stage       int
	}{
		{"ImagePullFailed", `state: {waiting: {reason: ErrImagePull, message: refused}}`, itsOwn},
		{"ContainerConfigError", `state: {waiting: {reason: CreateContainerConfigError, message: no key}}`, itsOwn},
		{"ContainerCrash", `state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1}}`, ranAndEnded},
		{"ReadinessProbeFailing", `started: true, state: {running: {}}`, runs},
	}
	for _, root := range states {
		for _, symptom := range states {
			if root.stage >= symptom.stage {
				continue
			}
			for i, order := range [][2]string{{root.state, symptom.state}, {symptom.state, root.state}} {
				causes := diagnosedIn(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: prod, uid: p}, spec: {nodeName: node-1, containers: [{name: a, image: a, readinessProbe: {}}, {name: b, image: b, readinessProbe: {}}]},
  status: {phase: Running, containerStatuses: [{name: a, image: a, ready: false, restartCount: 1, %s}, {name: b, image: b, ready: false, restartCount: 1, %s}]}}`, order[0], order[1]))
				t.Run(fmt.Sprint(root.code, " ", symptom.code, " ", i), func(t *testing.T) { before(t, causes, root.code, symptom.code) })
			}
		}
	}
}

// The kubelet reports a volume that fails, and later that the Pod waits for its volumes. Only the
// first names the reason.
func TestEventsThatNameTheReasonAreQuoted(t *testing.T) {
	const waitsOnly = "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: timed out waiting for the condition"
	for name, reason := range map[string][2]string{
		"a mount":        {"FailedMount", "MountVolume.SetUp failed for volume data: mount failed: exit status 32"},
		"an attachment":  {"FailedAttachVolume", "AttachVolume.Attach failed for volume pv-1: rpc error: limit reached"},
		"a block device": {"FailedMapVolume", "MapVolume.SetUpDevice failed for volume data: no driver"},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(reason, message, minute string) string {
				return `{apiVersion: v1, kind: Event, metadata: {name: e` + minute + `, namespace: prod}, type: Warning, reason: ` + reason + `, message: "` + message + `", involvedObject: {kind: Pod, uid: pod-1}, lastTimestamp: "2026-01-01T11:` + minute + `:00Z"}`
			}
			causes := diagnosedIn(t, pod(`state: {waiting: {reason: ContainerCreating}}`), at(reason[0], reason[1], "50"), at("FailedMount", waitsOnly, "59"))
			if len(causes) != 1 || causes[0].Code != "VolumeNotMounted" || !slices.Contains(causes[0].Evidence, "event "+reason[0]+": "+reason[1]) {
				t.Errorf("%+v", causes)
			}
			causes = diagnosedIn(t, pod(`state: {waiting: {reason: ContainerCreating}}`), at("FailedMount", waitsOnly, "59"))
			if len(causes) != 1 || !slices.Contains(causes[0].Evidence, "event FailedMount: "+waitsOnly) {
				t.Errorf("without a reason: %+v", causes)
			}
		})
	}
}
