package unready_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// refusing returns a ReplicaSet whose Pods are refused with a message.
func refusing(message string) string {
	return `apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, namespace: prod, uid: rs-1}
spec: {replicas: 3, template: {spec: {serviceAccountName: robot}}}
status:
  replicas: 0
  conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: '` + message + `'}]
`
}

// limits is a LimitRange.
const limits = "\n---\n" + `{apiVersion: v1, kind: LimitRange, metadata: {name: limits, namespace: prod}}`

func TestRefused(t *testing.T) {
	const untried = ", and their controller has not tried again since"
	const who = "Pods of replicaset.apps/web -n prod are refused"
	failedCreate := `{apiVersion: v1, kind: Event, metadata: {name: e, namespace: prod, uid: e}, type: Warning, reason: FailedCreate,
  message: "create Pod web-0 in StatefulSet web failed error: pods \"web-0\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2", involvedObject: {uid: s-1}}`
	set := func(has string) string {
		return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: prod, uid: s-1}, spec: {` + everyPod + `, replicas: 1}, status: {replicas: ` + has + `}}`
	}
	stories(t, map[string]story{
		"quota": {
			facts: refusing(`pods "web-x" is forbidden: exceeded quota: compute, requested: requests.cpu=2, used: requests.cpu=9, limited: requests.cpu=10`) +
				"\n---\n" + `{apiVersion: v1, kind: ResourceQuota, metadata: {name: compute, namespace: prod}, status: {hard: {requests.cpu: 10, pods: 20}, used: {requests.cpu: 9, pods: 4}}}`,
			want:     []string{"QuotaExceeded: " + who + ": ResourceQuota compute in namespace prod is used up"},
			blocked:  "resourcequota/compute -n prod",
			next:     "kubectl describe resourcequota/compute -n prod",
			evidence: []string{"used: pods 4 of 20, requests.cpu 9 of 10"},
		},
		"quota, deleted since": {
			facts:  refusing(`pods "web-x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=9, limited: pods=9`),
			absent: []string{"ResourceQuota/prod/compute"},
			want:   []string{"CreateRefused: Pods of replicaset.apps/web -n prod were refused while ResourceQuota compute in namespace prod was used up; it no longer exists" + untried},
			next:   "kubectl describe replicaset.apps/web -n prod",
		},
		"quota that needs resources, deleted since": {
			facts:  refusing(`pods "web-x" is forbidden: failed quota: compute: must specify limits.cpu for: app`),
			absent: []string{"ResourceQuota/prod/compute"},
			want:   []string{"CreateRefused: Pods of replicaset.apps/web -n prod were refused while ResourceQuota compute in namespace prod required every container to set its resources; it no longer exists" + untried},
			next:   "kubectl describe replicaset.apps/web -n prod",
		},
		"quota that cannot be read": {
			facts:  refusing(`pods "web-x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=9, limited: pods=9`),
			broken: []string{"ResourceQuota/prod/compute"},
			want:   []string{"QuotaExceeded: " + who + ": ResourceQuota compute in namespace prod is used up", "Unreadable: these could not be read, so their state is unknown: resourcequota/compute -n prod"},
		},
		"quota for a StatefulSet, from its event": {
			facts: set("0") + "\n---\n" + failedCreate,
			want:  []string{"QuotaExceeded: Pods of statefulset.apps/web -n prod are refused: ResourceQuota q in namespace prod is used up"},
		},
		"an event about a refusal in the past": {facts: set("1") + "\n---\n" + failedCreate},
		"quota needs resources": {
			facts: refusing(`pods "web-x" is forbidden: failed quota: compute: must specify limits.cpu for: app`),
			want:  []string{"QuotaNeedsResources: " + who + ": ResourceQuota compute in namespace prod requires every container to set its resources"},
		},
		"service account": {
			facts:   refusing(`pods "web-x" is forbidden: error looking up service account prod/robot: serviceaccount "robot" not found`),
			absent:  []string{"ServiceAccount/prod/robot"},
			want:    []string{"ServiceAccountMissing: " + who + ": serviceaccount/robot -n prod does not exist"},
			blocked: "serviceaccount/robot -n prod",
			next:    "kubectl create serviceaccount robot -n prod",
		},
		"service account, created since": {
			facts: refusing(`pods "web-x" is forbidden: error looking up service account prod/robot: serviceaccount "robot" not found`),
			want:  []string{"CreateRefused: Pods of replicaset.apps/web -n prod were refused while serviceaccount/robot -n prod did not exist; it does now, and their controller will retry"},
		},
		"Pod security": {
			facts:   refusing(`pods "web-x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`),
			want:    []string{"PodSecurityViolation: " + who + ": namespace prod enforces the Pod security level restricted:latest, and they do not comply: runAsNonRoot != true"},
			blocked: "namespace/prod",
		},
		"Pod security, with all failed checks": { // from a server of version 1.36
			facts: refusing(`pods "web-x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "app" must set securityContext.allowPrivilegeEscalation=false), ` +
				`unrestricted capabilities (containers "app", "log" must set securityContext.capabilities.drop=["ALL"]; container "app" must not include "a, (b" in securityContext.capabilities.add), ` +
				`runAsNonRoot != true (pod or container "app" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "app" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`),
			want: []string{"PodSecurityViolation: " + who + ": namespace prod enforces the Pod security level restricted:latest, and they do not comply: allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile"},
			next: "paste into each of these containers: securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}",
			evidence: []string{
				`allowPrivilegeEscalation != false (container "app" must set securityContext.allowPrivilegeEscalation=false)`,
				`unrestricted capabilities (containers "app", "log" must set securityContext.capabilities.drop=["ALL"]; container "app" must not include "a, (b" in securityContext.capabilities.add)`,
				`runAsNonRoot != true (pod or container "app" must set securityContext.runAsNonRoot=true)`,
				`seccompProfile (pod or container "app" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`,
			},
		},
		"Pod security, relaxed since": {
			facts: refusing(`pods "web-x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`) +
				"\n---\n" + `{apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {pod-security.kubernetes.io/enforce: baseline}}}`,
			want: []string{"CreateRefused: Pods of replicaset.apps/web -n prod were refused while namespace prod enforced the Pod security level restricted:latest; it now enforces baseline, and their controller will retry"},
		},
		"webhook denies": {
			facts: refusing(`admission webhook "gate.example.com" denied the request: no`) +
				"\n---\n" + `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: gate}, webhooks: [{name: gate.example.com}]}`,
			want:    []string{"WebhookDenied: " + who + " by admission webhook gate.example.com: no"},
			blocked: "mutatingwebhookconfiguration.admissionregistration.k8s.io/gate",
		},
		"webhook, deleted since": {
			facts: refusing(`admission webhook "gate.example.com" denied the request: no`),
			want:  []string{"CreateRefused: Pods of replicaset.apps/web -n prod were refused by admission webhook gate.example.com: no; no webhook configuration contains it now" + untried},
			next:  "kubectl describe replicaset.apps/web -n prod",
		},
		"webhook that did not answer, deleted since": {
			facts: refusing(`Internal error occurred: failed calling webhook "gate.example.com": failed to call webhook: Post "https://x": timeout`),
			want:  []string{"CreateRefused: Pods of replicaset.apps/web -n prod were refused because admission webhook gate.example.com could not be reached: failed to call webhook: Post \"https://x\": timeout; no webhook configuration contains it now" + untried},
		},
		"webhook does not answer": {
			facts: refusing(`Internal error occurred: failed calling webhook "gate.example.com": failed to call webhook: Post "https://x": timeout`) +
				"\n---\n" + `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: gate}, webhooks: [{name: gate.example.com}]}`,
			want: []string{"WebhookUnavailable: " + who + " because admission webhook gate.example.com cannot be reached: failed to call webhook: Post \"https://x\": timeout"},
			next: "kubectl describe validatingwebhookconfiguration.admissionregistration.k8s.io/gate",
		},
		"policy": {
			facts:   refusing(`pods "web-x" is forbidden: ValidatingAdmissionPolicy ''no-root'' with binding ''b'' denied request: no`),
			want:    []string{"PolicyDenied: " + who + " by ValidatingAdmissionPolicy no-root: no"},
			blocked: "validatingadmissionpolicy.admissionregistration.k8s.io/no-root",
		},
		"limit range, deleted since": {
			facts: refusing(`pods "web-x" is forbidden: maximum cpu usage per Container is 1, but limit is 4`),
			want:  []string{"CreateRefused: Pods of replicaset.apps/web -n prod were refused by a LimitRange in namespace prod; the namespace has none now" + untried},
			next:  "kubectl describe replicaset.apps/web -n prod",
		},
		"limit range": {
			facts: refusing(`pods "web-x" is forbidden: maximum cpu usage per Container is 1, but limit is 4`) + limits,
			want:  []string{"LimitRangeViolation: " + who + " by a LimitRange in namespace prod: maximum cpu usage per Container is 1, but limit is 4"},
		},
		"priority class, created since": {
			facts: refusing(`pods "web-x" is forbidden: no PriorityClass with name high was found`),
			want:  []string{"CreateRefused: Pods of replicaset.apps/web -n prod were refused while priorityclass.scheduling.k8s.io/high did not exist; it does now, and their controller will retry"},
		},
		"priority class": {
			facts:  refusing(`pods "web-x" is forbidden: no PriorityClass with name high was found`),
			absent: []string{"PriorityClass.scheduling.k8s.io/high"},
			want:   []string{"PriorityClassMissing: " + who + ": PriorityClass high does not exist"},
		},
		"limit range, at the last attempt": {
			facts: refusing(`pods "web-x" is forbidden: failed quota: compute: must specify limits.cpu for: app`) +
				"\n---\n" + `{apiVersion: v1, kind: Event, metadata: {name: e, namespace: prod, uid: e}, type: Warning, reason: FailedCreate, lastTimestamp: "2026-01-01T11:59:00Z",
  message: 'Error creating: pods "web-y" is forbidden: maximum cpu usage per Container is 1, but limit is 4', involvedObject: {uid: rs-1}}` + limits,
			want: []string{"LimitRangeViolation: " + who + " by a LimitRange in namespace prod: maximum cpu usage per Container is 1, but limit is 4"},
		},
		"something else": {
			facts: refusing(`Pod "web-x" is invalid: spec.nodeName: odd`),
			want:  []string{"CreateRefused: " + who + `: Pod "web-x" is invalid: spec.nodeName: odd`},
		},
	})
}

func TestWorkloads(t *testing.T) {
	deployment := func(spec, status string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod, uid: d-1, generation: 5}, spec: {` + everyPod + `, ` + spec + `}, status: {` + status + `}}`
	}
	const exceeded = `conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: ReplicaSet web-1 has timed out progressing.}]`
	set := func(spec string) string {
		return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: prod, uid: s-1}, spec: {` + everyPod + `, replicas: 2` + spec + `}, status: {replicas: 2, updateRevision: db-2}}`
	}
	member := func(name, revision, ready string) string {
		return "\n---\n" + `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, namespace: prod, uid: ` + name + `, labels: {controller-revision-hash: ` + revision + `}, ownerReferences: [{kind: StatefulSet, name: db, uid: s-1, controller: true}]},
  spec: {nodeName: node-1}, status: {phase: Running, conditions: [{type: Ready, status: "` + ready + `", lastTransitionTime: "2026-01-01T11:59:50Z"}]}}`
	}
	stories(t, map[string]story{
		"paused": {
			facts:   deployment("paused: true", "observedGeneration: 5, "+exceeded),
			want:    []string{"Paused: deployment.apps/web -n prod is paused: changes to it are not rolled out"},
			next:    "kubectl rollout resume deployment.apps/web -n prod",
			blocked: "deployment.apps/web -n prod",
		},
		"no progress": {
			facts: deployment("progressDeadlineSeconds: 60", "observedGeneration: 5, "+exceeded),
			want:  []string{"ProgressDeadlineExceeded: deployment.apps/web -n prod made no progress within its progressDeadlineSeconds (60 s)"},
		},
		"no progress in an older generation (edge case 52)": {
			facts:    deployment("", "observedGeneration: 4, "+exceeded),
			want:     []string{"NotObserved: deployment.apps/web -n prod: the controller has not observed the latest change yet"},
			evidence: []string{".metadata.generation is 5, .status.observedGeneration 4"},
		},
		"a StatefulSet waits for a Pod of an older revision": {
			facts: set("") + member("db-0", "db-1", "False"),
			want: []string{
				"StatefulSetPodStuck: Pod db-0 has an older revision and is not ready; statefulset.apps/db -n prod waits for it instead of replacing it",
				"Starting: pod/db-0 -n prod: is starting; nothing looks wrong so far",
			},
			next:    "kubectl delete pod db-0 -n prod",
			blocked: "pod/db-0 -n prod",
		},
		"a StatefulSet with parallel Pods does not wait": {
			facts: set(", podManagementPolicy: Parallel") + member("db-0", "db-1", "False"),
			want:  []string{"Starting: pod/db-0 -n prod: is starting; nothing looks wrong so far"},
		},
		"on delete": {
			facts: set(", updateStrategy: {type: OnDelete}") + member("db-0", "db-1", "True") + member("db-1", "db-2", "True"),
			want:  []string{"UpdateOnDelete: an older revision is still running in 1 Pod of statefulset.apps/db -n prod: the update strategy OnDelete replaces a Pod only when it is deleted"},
			next:  "kubectl delete pod db-0 -n prod",
		},
		"minReadySeconds": {
			facts: set(", minReadySeconds: 30") + member("db-0", "db-2", "True"),
			brief: true,
			want:  []string{"MinReadySeconds: 1 Pod of statefulset.apps/db -n prod became ready less than minReadySeconds (30 s) ago"},
		},
		"the namespace is terminating": {
			facts: deployment("", "observedGeneration: 5") + "\n---\n" +
				`{apiVersion: v1, kind: Namespace, metadata: {name: prod, deletionTimestamp: "2026-01-01T11:00:00Z"}, status: {phase: Terminating, conditions: [{type: NamespaceContentRemaining, status: "True", reason: SomeResourcesRemain, message: "pods. has 3 resource instances"}]}}`,
			want:     []string{"NamespaceTerminating: namespace prod has been terminating for 60m: nothing new can be created in it"},
			evidence: []string{"condition NamespaceContentRemaining=True (SomeResourcesRemain): pods. has 3 resource instances"},
			next:     "kubectl k8sconnect stuck namespace/prod",
		},
		"the object is terminating": {
			facts: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod, deletionTimestamp: "2026-01-01T11:50:00Z", finalizers: [example.com/x]}}`,
			want:  []string{"Terminating: deployment.apps/web -n prod has been terminating for 10m"},
			next:  "kubectl k8sconnect stuck deployment.apps/web -n prod",
		},
		"Pods cannot be read": {
			facts:    deployment("", "observedGeneration: 5"),
			broken:   []string{"Pod/prod/"},
			want:     []string{"Unreadable: these could not be read, so their state is unknown: pods in prod"},
			evidence: []string{"the server is on fire"},
		},
		"forbidden objects are unknown, not absent (edge case 67)": {
			facts:  deployment("", "observedGeneration: 5"),
			unread: []string{"ReplicaSet.apps/prod/", "Pod/prod/"},
			want:   []string{"NotAllowed: you are not allowed to read these, so their state is unknown: pods in prod, replicasets in prod"},
			next:   "kubectl auth can-i list replicasets.apps -n prod",
		},
		"the object's own status comes before forbidden objects": {
			facts: deployment("", `observedGeneration: 5, replicas: 3, updatedReplicas: 3, unavailableReplicas: 3, conditions: [
  {type: Progressing, status: "True", reason: ReplicaSetUpdated, message: "ReplicaSet \"web-1\" is progressing."},
  {type: Available, status: "False", reason: MinimumReplicasUnavailable, message: Deployment does not have minimum availability.}]`),
			unread: []string{"ReplicaSet.apps/prod/", "Pod/prod/"},
			want: []string{
				"StatusSays: deployment.apps/web -n prod: its status says: Available is False (MinimumReplicasUnavailable): Deployment does not have minimum availability.",
				"NotAllowed: you are not allowed to read these, so their state is unknown: pods in prod, replicasets in prod",
			},
			evidence: []string{"condition Available=False (MinimumReplicasUnavailable): Deployment does not have minimum availability."},
		},
		"the Deployment repeats a refusal of its ReplicaSets, which are forbidden": {
			facts: deployment("", `observedGeneration: 5, unavailableReplicas: 3, conditions: [
  {type: ReplicaFailure, status: "True", reason: FailedCreate, message: "pods \"web-x\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true"}]`),
			unread: []string{"ReplicaSet.apps/prod/", "Pod/prod/"},
			want: []string{
				"PodSecurityViolation: Pods of deployment.apps/web -n prod are refused: namespace prod enforces the Pod security level restricted:latest, and they do not comply: runAsNonRoot != true",
				"NotAllowed: you are not allowed to read these, so their state is unknown: pods in prod, replicasets in prod",
			},
		},
	})
}

func TestPods(t *testing.T) {
	const head = `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: prod, uid: pod-1`
	stories(t, map[string]story{
		"evicted": {
			facts: head + `}, spec: {nodeName: node-1}, status: {phase: Failed, reason: Evicted, message: "The node was low on resource: memory."}}`,
			want:  []string{"PodEvicted: pod/web-1 -n prod: was terminated by its node: Evicted"},
		},
		"not admitted": {
			facts: head + `}, spec: {nodeName: node-1}, status: {phase: Failed, reason: OutOfcpu, message: "Node didn't have enough resource: cpu"}}`,
			want:  []string{"PodRejected: pod/web-1 -n prod: was terminated by its node: OutOfcpu"},
		},
		"node not ready": {
			facts: head + `}, spec: {nodeName: node-1}, status: {phase: Running}}` + "\n---\n" +
				`{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown, message: Kubelet stopped posting node status., lastTransitionTime: "2026-01-01T11:30:00Z"}]}}`,
			want:    []string{"NodeNotReady: pod/web-1 -n prod: runs on node node-1, which has been NotReady for 30m"},
			blocked: "node/node-1",
			next:    "kubectl describe node node-1",
		},
		"terminating": {
			facts: head + `, deletionTimestamp: "2026-01-01T11:50:00Z", ownerReferences: []}, spec: {nodeName: node-1}, status: {phase: Running}}`,
			want: []string{
				"Terminating: pod/web-1 -n prod has been terminating for 10m",
				"PodTerminating: pod/web-1 -n prod: is being deleted, but does not terminate",
			},
		},
		"readiness gate": {
			facts:    head + `}, spec: {nodeName: node-1, readinessGates: [{conditionType: example.com/lb}]}, status: {phase: Running, conditions: [{type: ContainersReady, status: "True"}, {type: Ready, status: "False"}]}}`,
			want:     []string{"ReadinessGate: pod/web-1 -n prod: all containers are ready, but readiness gate example.com/lb is not met: its controller has to set that condition"},
			evidence: []string{"condition example.com/lb was never set"},
		},
		"an init container that keeps running": {
			facts: head + `}, spec: {nodeName: node-1, initContainers: [{name: wait}], containers: [{name: app}]}, status: {phase: Pending,
  initContainerStatuses: [{name: wait, state: {running: {startedAt: "2026-01-01T11:00:00Z"}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}}`,
			want:     []string{"InitContainerRunning: pod/web-1 -n prod: init container wait is still running; later containers wait for it"},
			evidence: []string{"Pod web-1: it has been running for 60m"},
			next:     "kubectl logs web-1 -c wait -n prod",
		},
		"a sidecar that crashes": { // KEP-753
			facts: head + `}, spec: {nodeName: node-1, initContainers: [{name: proxy, restartPolicy: Always}], containers: [{name: app}]}, status: {phase: Pending,
  initContainerStatuses: [{name: proxy, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2, reason: Error}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}}`,
			want: []string{"ContainerCrash: pod/web-1 -n prod: sidecar proxy exits with code 2 each time it starts"},
		},
		"a running sidecar does not block": {
			facts: head + `}, spec: {nodeName: node-1, restartPolicy: Always, initContainers: [{name: proxy, restartPolicy: Always}], containers: [{name: app}]}, status: {phase: Running,
  initContainerStatuses: [{name: proxy, ready: true, started: true, state: {running: {}}}], containerStatuses: [{name: app, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2}}}]}}`,
			want: []string{"ContainerCrash: pod/web-1 -n prod: container app exits with code 2 each time it starts"},
		},
		"a ConfigMap is missing": {
			facts: head + `}, spec: {nodeName: node-1, containers: [{name: app}], volumes: [{name: conf, projected: {sources: [{configMap: {name: settings}}]}}]},
  status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}}`,
			absent:  []string{"ConfigMap/prod/settings"},
			want:    []string{"ConfigMapMissing: pod/web-1 -n prod: volume conf needs ConfigMap settings, which does not exist"},
			blocked: "configmap/settings -n prod",
			next:    "kubectl get configmaps -n prod",
		},
		"a Secret is missing, but not the optional one": {
			facts: head + `}, spec: {nodeName: node-1, containers: [{name: app, env: [{name: A, valueFrom: {secretKeyRef: {name: maybe, key: k, optional: true}}}, {name: B, valueFrom: {secretKeyRef: {name: keys, key: k}}}]}]},
  status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "keys" not found'}}}]}}`,
			absent:  []string{"Secret/prod/keys", "Secret/prod/maybe"},
			want:    []string{"SecretMissing: pod/web-1 -n prod: container app needs Secret keys, which does not exist"},
			blocked: "secret/keys -n prod",
			next:    "kubectl get secrets -n prod",
		},
		"a Secret that is deleted while the container crashes for another reason": {
			facts: head + `}, spec: {nodeName: node-1, restartPolicy: Always, containers: [{name: app, envFrom: [{secretRef: {name: keys}}]}]},
  status: {phase: Running, containerStatuses: [{name: app, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2}}}]}}`,
			absent: []string{"Secret/prod/keys"},
			want:   []string{"ContainerCrash: pod/web-1 -n prod: container app exits with code 2 each time it starts"},
		},
	})
}

// A table shows why Pods are refused, in the words of whoever refuses them, for each kind of refusal.
func TestTableShowsTheWordsOfARefusal(t *testing.T) {
	for message, words := range map[string][]string{
		`admission webhook "gate.example.com" denied the request: every Pod needs the label team`:                                                    {"every Pod needs the label team"},
		`admission webhook "gate.example.com" denied the request without explanation`:                                                                {"gate.example.com"},
		`Internal error occurred: failed calling webhook "gate.example.com": failed to call webhook: no endpoints available for service "gate"`:      {`no endpoints available for service "gate"`},
		`Internal error occurred: failed calling webhook "gate.example.com": failed to call webhook: x509: certificate signed by unknown authority`:  {"x509: certificate signed by unknown authority"},
		`pods "web-x" is forbidden: ValidatingAdmissionPolicy 'no-root' with binding 'b' denied request: every Pod needs the label team`:             {"every Pod needs the label team"},
		`pods "web-x" is forbidden: [maximum memory usage per Container is 1Gi, but limit is 4Gi, minimum cpu usage per Pod is 1, but request is 0]`: {"maximum memory usage per Container is 1Gi, but limit is 4Gi", "minimum cpu usage per Pod is 1"},
		`pods "web-x" is forbidden: cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000`:                               {"ratio per Container is 2, but provided ratio is 4"},
		`pods "web-x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=2, limited: pods=2`:                                       {"compute", "pods=1"},
		`pods "web-x" is forbidden: failed quota: compute: must specify limits.cpu for: app`:                                                         {"compute", "every container to set its resources"},
		`pods "web-x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`:                                                  {"runAsNonRoot != true"},
		`pods "web-x" is forbidden: no PriorityClass with name high was found`:                                                                       {"PriorityClass", "high"},
		`pods "web-x" is forbidden: error looking up service account prod/app: serviceaccount "app" not found`:                                       {"app"},
		`Pod "web-x" is invalid: spec.nodeName: odd`:                                                                                                 {"spec.nodeName: odd"},
	} {
		facts := refusing(strings.ReplaceAll(message, "'", "''"))
		causes := story{facts: facts}.diagnosed(t)
		table := strings.Join(format.Causes(format.Brief(causes)), "\n")
		for _, word := range words {
			if !strings.Contains(table, word) {
				t.Errorf("no %q in\n%s", word, table)
			}
		}
	}
}
