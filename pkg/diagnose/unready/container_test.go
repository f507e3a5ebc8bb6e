package unready_test

import (
	"strings"
	"testing"
)

// pod returns a Pod with one container, with the status that a kubelet reports.
func pod(status string) string {
	return `apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: prod, uid: pod-1, labels: {app: web}}
spec:
  nodeName: node-1
  restartPolicy: Always
  containers:
  - name: app
    image: registry.example/app:1
    command: [/bin/serve, --port=8080]
    resources: {limits: {memory: 64Mi}}
    readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 10, timeoutSeconds: 1}
    startupProbe: {exec: {command: [/bin/started]}, periodSeconds: 5, timeoutSeconds: 1}
status:
  phase: Running
  conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-01-01T11:57:00Z"}, {type: Ready, status: "False", reason: ContainersNotReady}]
  containerStatuses:
  - {name: app, image: registry.example/app:1, imageID: "", ready: false, ` + status + "}\n"
}

// warning returns an event about that Pod.
func warning(reason, message string) string {
	return `apiVersion: v1
kind: Event
metadata: {name: e-` + strings.ToLower(reason) + `, namespace: prod, uid: e-` + reason + `}
type: Warning
reason: ` + reason + `
message: "` + message + `"
involvedObject: {kind: Pod, namespace: prod, name: web-1, uid: pod-1, fieldPath: "spec.containers{app}"}
lastTimestamp: "2026-01-01T11:59:00Z"
`
}

func waiting(reason, message string) string {
	return pod(`restartCount: 0, state: {waiting: {reason: ` + reason + `, message: "` + message + `"}}`)
}

func TestContainers(t *testing.T) {
	stories(t, map[string]story{
		"crash": {
			facts: pod(`restartCount: 7, state: {waiting: {reason: CrashLoopBackOff}},
    lastState: {terminated: {exitCode: 1, reason: Error, finishedAt: "2026-01-01T11:58:00Z", message: "a\nb\n\e[31mpanic: no\tdatabase\e[0m\nexit\n"}}`),
			want:     []string{"ContainerCrash: pod/web-1 -n prod: container app exits with code 1 each time it starts"},
			next:     "kubectl logs web-1 -c app --previous -n prod",
			evidence: []string{"Pod web-1: exit code 1 (Error) at 11:58:00Z, 7 restarts", "termination message: panic: no database"},
		},
		"crash on another day": {
			facts:    pod(`restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error, finishedAt: "2025-12-24T11:58:00Z"}}`),
			want:     []string{"ContainerCrash: pod/web-1 -n prod: container app exits with code 1 each time it starts"},
			evidence: []string{"Pod web-1: exit code 1 (Error) at 2025-12-24 11:58:00Z, 1 restart"},
		},
		"crash without details": {
			facts: pod(`restartCount: 7, state: {waiting: {reason: CrashLoopBackOff, message: back-off 5m0s}}`),
			want:  []string{"ContainerCrash: pod/web-1 -n prod: container app exits each time it starts (CrashLoopBackOff)"},
		},
		"between two crashes": {
			facts: pod(`restartCount: 2, started: true, state: {running: {startedAt: "2026-01-01T11:59:59Z"}}, lastState: {terminated: {exitCode: 1, reason: Error}}`),
			want:  []string{"ContainerCrash: pod/web-1 -n prod: container app exits with code 1 each time it starts"},
		},
		"crashes last week": {
			facts: pod(`restartCount: 5, started: true, state: {running: {}}, lastState: {terminated: {exitCode: 1, reason: Error, finishedAt: "2025-12-24T12:00:00Z"}}`),
			want:  []string{"ReadinessProbeFailing: pod/web-1 -n prod: container app is running, but its readiness probe has not succeeded yet"},
		},
		"a signal": {
			facts: pod(`restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 139, reason: Error}}`),
			want:  []string{"ContainerCrash: pod/web-1 -n prod: container app exits with code 139 (signal 11, SIGSEGV) each time it starts"},
		},
		"out of memory": {
			facts: pod(`restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}`),
			want:  []string{"OOMKilled: pod/web-1 -n prod: container app is killed because it uses more memory than its limit of 64Mi (OOMKilled)"},
		},
		"no such command": {
			facts:    pod(`restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 128, reason: StartError, message: "exec: \"/bin/serve\": no such file"}}`),
			want:     []string{"CommandNotFound: pod/web-1 -n prod: container app cannot run its command (exit code 128): it is not in the image, or not executable"},
			evidence: []string{"command: /bin/serve --port=8080"},
		},
		"exits with code 0": {
			facts: pod(`restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 0, reason: Completed}}`),
			want:  []string{"ContainerExits: pod/web-1 -n prod: container app exits with code 0, although it should keep running"},
		},
		"killed by its probe": {
			facts: pod(`restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: Error}}`) +
				"\n---\n" + warning("Unhealthy", "Liveness probe failed: timeout"),
			want:     []string{"ProbeKills: pod/web-1 -n prod: container app is killed and restarted because its probe fails"},
			evidence: []string{"event Unhealthy: Liveness probe failed: timeout"},
		},
		"readiness": {
			facts:    pod(`started: true, restartCount: 0, state: {running: {}}`) + "\n---\n" + warning("Unhealthy", "Readiness probe failed: 503"),
			want:     []string{"ReadinessProbeFailing: pod/web-1 -n prod: container app is running, but its readiness probe fails"},
			evidence: []string{"Pod web-1: probe GET /ready at port 8080, every 10 s, timeout 1 s", "event Unhealthy: Readiness probe failed: 503"},
			next:     "kubectl logs web-1 -c app -n prod",
		},
		"startup": {
			facts: pod(`started: false, restartCount: 0, state: {running: {}}`),
			want:  []string{"StartupProbeFailing: pod/web-1 -n prod: container app is running, but its startup probe has not succeeded yet"},
		},
		"configuration": {
			facts: waiting("CreateContainerConfigError", "couldn't find key k in configmap/settings -n prod"),
			want:  []string{"ContainerConfigError: pod/web-1 -n prod: container app cannot be created as specified: couldn't find key k in configmap/settings -n prod"},
		},
		"configuration, with the Pod's name in the message": {
			facts: waiting("CreateContainerConfigError", `container has runAsNonRoot and image will run as root (pod: \"web-1_prod(1)\", container: app)`),
			want:  []string{"ContainerConfigError: pod/web-1 -n prod: container app cannot be created as specified: container has runAsNonRoot and image will run as root"},
		},
		"not started": {
			facts:    waiting("RunContainerError", "failed to create shim task"),
			want:     []string{"ContainerNotStarted: pod/web-1 -n prod: container app cannot be started (RunContainerError)"},
			evidence: []string{"Pod web-1: waiting, RunContainerError: failed to create shim task"},
		},
		"nothing is wrong": {
			facts:    waiting("ContainerCreating", ""),
			want:     []string{"Starting: pod/web-1 -n prod: is starting; nothing looks wrong so far"},
			evidence: []string{"waiting containers: ContainerCreating", "Pod web-1 has been on node node-1 for 3m"},
		},
	})
}

func TestImages(t *testing.T) {
	stories(t, map[string]story{
		"not found": {
			facts: waiting("ErrImagePull", "failed to resolve reference: registry.example/app:1: not found"),
			want:  []string{"ImageNotFound: pod/web-1 -n prod: container app: the registry has no image registry.example/app:1"},
		},
		"not allowed": {
			facts: waiting("ErrImagePull", "pull access denied, repository may require authorization"),
			want:  []string{"ImageAccessDenied: pod/web-1 -n prod: container app: the registry denies the node access to image registry.example/app:1"},
		},
		"not found or not allowed: the registry does not say which": {
			facts:    waiting("ErrImagePull", "pull access denied, repository does not exist or may require authorization"),
			want:     []string{"ImageAccessDenied: pod/web-1 -n prod: container app: image registry.example/app:1 does not exist, or the registry denies the node access to it"},
			evidence: []string{"the Pod has no imagePullSecrets"},
		},
		"no image for the platform": {
			facts: waiting("ErrImagePull", `failed to pull and unpack image: no match for platform in manifest: not found`),
			want:  []string{"ImagePlatformMissing: pod/web-1 -n prod: container app: image registry.example/app:1 exists, but not for the node's platform"},
		},
		"the event says why": {
			facts: waiting("ImagePullBackOff", "Back-off pulling image") + "\n---\n" + warning("Failed", "Failed to pull image: 401 Unauthorized"),
			want:  []string{"ImageAccessDenied: pod/web-1 -n prod: container app: the registry denies the node access to image registry.example/app:1"},
		},
		"unknown": {
			facts:    waiting("ImagePullBackOff", "Back-off pulling image"),
			want:     []string{"ImagePullFailed: pod/web-1 -n prod: container app: image registry.example/app:1 cannot be pulled"},
			evidence: []string{"Pod web-1: waiting, ImagePullBackOff", "Back-off pulling image"},
		},
		"invalid image name": {
			facts: waiting("InvalidImageName", "couldn't parse"),
			want:  []string{"ImageNameInvalid: pod/web-1 -n prod: container app: registry.example/app:1 is not a valid image name"},
		},
		"never pulled": {
			facts: waiting("ErrImageNeverPull", "not present"),
			want:  []string{"ImageNeverPulled: pod/web-1 -n prod: container app: image registry.example/app:1 is not on the node, and imagePullPolicy is Never"},
		},
		"a node has an older image under the tag": {
			facts: replicaSet(3) +
				"\n---\n" + running("web-1", "node-1", "registry.example/app:1", "aaaaaaaaaaaaaaaa", "True") +
				"\n---\n" + running("web-2", "node-2", "registry.example/app:1", "aaaaaaaaaaaaaaaa", "True") +
				"\n---\n" + running("web-3", "node-3", "registry.example/app:1", "bbbbbbbbbbbbbbbb", "False"),
			want:     []string{"ImageDiffers: container app: nodes run different images under the same name registry.example/app:1", "Starting: pod/web-3 -n prod: is starting; nothing looks wrong so far"},
			blocked:  "pod/web-3 -n prod",
			evidence: []string{"sha256:aaaaaaaaaaaa: Pod web-1 on node-1, web-2 on node-2", "sha256:bbbbbbbbbbbb: Pod web-3 on node-3"},
			next:     "kubectl get pods -o 'custom-columns=POD:.metadata.name,NODE:.spec.nodeName,IMAGE:.status.containerStatuses[*].imageID' -n prod",
		},
		"a node has an older image, and the policy is Always": {
			facts: replicaSet(2) +
				"\n---\n" + running("web-1", "node-1", "registry.example/app:1", "aaaaaaaaaaaaaaaa", "True") +
				"\n---\n" + strings.Replace(running("web-2", "node-2", "registry.example/app:1", "bbbbbbbbbbbbbbbb", "False"), "{name: app,", "{name: app, imagePullPolicy: Always,", 1),
			want: []string{"ImageDiffers: container app: nodes run different images under the same name registry.example/app:1", "Starting: pod/web-2 -n prod: is starting; nothing looks wrong so far"},
			next: "kubectl delete pod web-2 -n prod",
		},
		"not the requested digest": {
			facts: replicaSet(1) +
				"\n---\n" + running("web-1", "node-1", "registry.example/app@sha256:cccc", "aaaaaaaaaaaaaaaa", "True"),
			want: []string{"ImageDiffers: container app does not run the specified image, registry.example/app@sha256:cccc"},
		},
		"all the same": {
			facts: replicaSet(2) +
				"\n---\n" + running("web-1", "node-1", "registry.example/app:1", "aaaaaaaaaaaaaaaa", "True") +
				"\n---\n" + running("web-2", "node-2", "registry.example/app:1", "aaaaaaaaaaaaaaaa", "True"),
		},
	})
}

func replicaSet(replicas int) string {
	n := string(rune('0' + replicas))
	return `apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, namespace: prod, uid: rs-1}
spec: {replicas: ` + n + `, ` + everyPod + `, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app}]}}}
status: {replicas: ` + n + `}
`
}

func running(name, node, image, digest, ready string) string {
	return `apiVersion: v1
kind: Pod
metadata: {name: ` + name + `, namespace: prod, uid: ` + name + `, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: rs-1, controller: true}]}
spec: {nodeName: ` + node + `, containers: [{name: app, image: "` + image + `"}]}
status:
  phase: Running
  conditions: [{type: Ready, status: "` + ready + `"}, {type: ContainersReady, status: "True"}]
  containerStatuses: [{name: app, image: "` + image + `", imageID: "registry.example/app@sha256:` + digest + `", ready: true, restartCount: 0, state: {running: {}}}]
`
}

// A transient failure of a registry or a network says nothing about the image, so it must not end a
// wait.
func TestTransientPullFailures(t *testing.T) {
	for message, want := range map[string]struct{ image, why string }{
		`429 Too Many Requests: denied: Quota exceeded for quota metric 'Requests per project'`:          {"registry.example/app:1", "429 Too Many Requests: denied: Quota exceeded for quota metric 'Requests per project'"},
		`toomanyrequests: too many failed login attempts, access denied`:                                 {"registry.example/app:1", "toomanyrequests: too many failed login attempts, access denied"},
		`dial tcp 10.0.0.1:443: connect: permission denied`:                                              {"registry.example/app:1", "dial tcp 10.0.0.1:443: connect: permission denied"},
		`read tcp 10.0.0.9:41234->10.0.0.1:443: i/o timeout`:                                             {"registry.example/app:1", "read tcp 10.0.0.1:443: i/o timeout"},
		`failed to pull registry.example/pages/notfound:1: dial tcp: i/o timeout`:                        {"registry.example/pages/notfound:1", "dial tcp: i/o timeout"},
		`failed to pull docker.io/library/denied-page:1: unexpected status code 503 Service Unavailable`: {"denied-page:1", "unexpected status code 503 Service Unavailable"},
		`failed to pull registry.example/forbidden@sha256:0123: unexpected status code 502 Bad Gateway`:  {"registry.example/forbidden@sha256:0123", "unexpected status code 502 Bad Gateway"},
		`failed to pull registry.example:5000/unauthorized: 503 Service Unavailable`:                     {"registry.example:5000/unauthorized", "503 Service Unavailable"},
	} {
		stories(t, map[string]story{
			message: {
				facts: strings.ReplaceAll(waiting("ErrImagePull", message), "registry.example/app:1", want.image),
				want:  []string{"ImagePullFailed: pod/web-1 -n prod: container app: image " + want.image + " cannot be pulled: " + want.why},
			},
		})
	}
}
