package unready_test

import (
	"strings"
	"testing"
)

func claim(spec, status string) string {
	return `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: prod, uid: pvc-1}
spec: {accessModes: [ReadWriteOnce]` + spec + `}
status: ` + status + "\n"
}

func volume(claimRef string) string {
	return `{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-1}, spec: {claimRef: ` + claimRef + `}}`
}

func class(provisioner, mode string) string {
	return `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: ` + provisioner + `, volumeBindingMode: ` + mode + `}`
}

func TestClaims(t *testing.T) {
	const pending = "{phase: Pending}"
	failed := `{apiVersion: v1, kind: Event, metadata: {name: e, namespace: prod, uid: e}, type: Warning, reason: ProvisioningFailed, message: no more disks, involvedObject: {uid: pvc-1}}`
	stories(t, map[string]story{
		"bound": {facts: claim("", "{phase: Bound}")},
		"lost": {
			facts:   claim(", volumeName: pv-1", "{phase: Lost}"),
			absent:  []string{"PersistentVolume/pv-1"},
			want:    []string{"ClaimLost: persistentvolumeclaim/data -n prod: has lost its PersistentVolume pv-1, which no longer exists"},
			blocked: "persistentvolume/pv-1",
		},
		"lost, and its volume belongs to another claim": {
			facts:   claim(", volumeName: pv-1", "{phase: Lost}") + "\n---\n" + volume("{namespace: prod, name: other, uid: pvc-2}"),
			want:    []string{"ClaimLost: persistentvolumeclaim/data -n prod: cannot use PersistentVolume pv-1, which exists, but is bound to persistentvolumeclaim/other -n prod"},
			blocked: "persistentvolume/pv-1",
		},
		"lost, and its volume belongs to an earlier claim": {
			facts:   claim(", volumeName: pv-1", "{phase: Lost}") + "\n---\n" + volume("{namespace: prod, name: data, uid: pvc-0}"),
			want:    []string{"ClaimLost: persistentvolumeclaim/data -n prod: cannot use PersistentVolume pv-1, which exists, but is bound to an earlier claim of the same name"},
			blocked: "persistentvolume/pv-1",
		},
		"lost, and its volume was created again": {
			facts:   claim(", volumeName: pv-1", "{phase: Lost}") + "\n---\n" + volume("null"),
			want:    []string{"ClaimLost: persistentvolumeclaim/data -n prod: has lost its PersistentVolume pv-1; a volume of that name exists, but it is not bound to this claim"},
			blocked: "persistentvolume/pv-1",
		},
		"lost, and volumes may not be read": {
			facts:  claim(", volumeName: pv-1", "{phase: Lost}"),
			unread: []string{"PersistentVolume/pv-1"},
			want: []string{
				"ClaimLost: persistentvolumeclaim/data -n prod: has lost its PersistentVolume pv-1",
				"NotAllowed: you are not allowed to read these, so their state is unknown: persistentvolume/pv-1",
			},
		},
		"terminating": {
			facts: strings.Replace(claim("", "{phase: Pending}"), "uid: pvc-1", `uid: pvc-1, finalizers: [kubernetes.io/pvc-protection], deletionTimestamp: "2026-01-01T11:50:00Z"`, 1),
			want: []string{
				"Terminating: persistentvolumeclaim/data -n prod has been terminating for 10m",
				"ClaimTerminating: persistentvolumeclaim/data -n prod: is being deleted",
			},
		},
		"no class": {
			facts: claim("", pending) + "\n---\n" + failed,
			want:  []string{"NoStorageClass: persistentvolumeclaim/data -n prod: has no storage class, there is no default class, and no PersistentVolume fits"},
		},
		"class missing": {
			facts:   claim(", storageClassName: fast", pending) + "\n---\n" + failed,
			absent:  []string{"StorageClass.storage.k8s.io/fast"},
			want:    []string{"StorageClassMissing: persistentvolumeclaim/data -n prod: requests StorageClass fast, which does not exist"},
			blocked: "storageclass.storage.k8s.io/fast",
		},
		"class unknown": { // edge case 67
			facts:  claim(", storageClassName: fast", pending),
			unread: []string{"StorageClass.storage.k8s.io/fast"},
			want: []string{
				"ClaimUnbound: persistentvolumeclaim/data -n prod: is not bound to a volume",
				"NotAllowed: you are not allowed to read these, so their state is unknown: storageclass.storage.k8s.io/fast",
			},
		},
		"provisioning failed": {
			facts:    claim(", storageClassName: fast", pending) + "\n---\n" + class("csi.example.com", "Immediate") + "\n---\n" + failed,
			want:     []string{"ProvisioningFailed: persistentvolumeclaim/data -n prod: its volume could not be created by csi.example.com"},
			evidence: []string{"event ProvisioningFailed: no more disks"},
			next:     "kubectl describe persistentvolumeclaim/data -n prod",
		},
		"no provisioner": {
			facts: claim(", storageClassName: fast", pending) + "\n---\n" + class("csi.example.com", "Immediate"),
			want:  []string{"NoProvisioner: persistentvolumeclaim/data -n prod: waits for csi.example.com to create its volume, with no sign of progress: is that provisioner installed and running?"},
		},
		"local volumes": {
			facts: claim(", storageClassName: fast", pending) + "\n---\n" + class("kubernetes.io/no-provisioner", "Immediate"),
			want:  []string{"NoVolume: persistentvolumeclaim/data -n prod: waits for a matching PersistentVolume; StorageClass fast does not create any"},
		},
		"waits for a Pod": {
			facts: claim(", storageClassName: fast", pending) + "\n---\n" + class("csi.example.com", "WaitForFirstConsumer"),
			want:  []string{"WaitForFirstConsumer: persistentvolumeclaim/data -n prod: gets no volume until a Pod that mounts the claim is scheduled"},
		},
		"a Pod does not wait for itself": {
			facts: unscheduled("0/1 nodes are available: 1 Insufficient cpu.") + "\n---\n" +
				claim(", storageClassName: fast", pending) + "\n---\n" + class("csi.example.com", "WaitForFirstConsumer"),
			want: []string{"Unschedulable: pod/web-1 -n prod: fits none of 1 node: 1 has too little cpu"},
		},
		"the named volume does not exist": {
			facts:    claim(", volumeName: pv-1", pending),
			absent:   []string{"PersistentVolume/pv-1"},
			want:     []string{"ClaimUnbound: persistentvolumeclaim/data -n prod: requests PersistentVolume pv-1, but is not bound to it"},
			evidence: []string{"PersistentVolume pv-1 does not exist"},
		},
	})
}

// mounting returns a Pod of a Deployment's ReplicaSet that mounts the claim.
func mounting(name, hash, node, status string) string {
	return `apiVersion: v1
kind: Pod
metadata: {name: ` + name + `, namespace: prod, uid: ` + name + `, labels: {app: web, pod-template-hash: "` + hash + `"}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-` + hash + `, uid: rs-` + hash + `, controller: true}]}
spec:
  nodeName: ` + node + `
  containers: [{name: app, image: "registry.example/app:1"}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
status: ` + status + "\n"
}

func TestAttach(t *testing.T) {
	const (
		up       = `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`
		creating = `{phase: Pending, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: app, ready: false, state: {waiting: {reason: ContainerCreating}}}]}`
	)
	const crashing = `{phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: app, ready: false, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 100, reason: Error}}}]}`
	deployment := func(spec string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod, uid: d-1, generation: 2}, spec: {` + everyPod + `, replicas: 1` + spec + `}, status: {observedGeneration: 2}}` +
			"\n---\n" + `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: prod, uid: rs-1, ownerReferences: [{kind: Deployment, name: web, uid: d-1, controller: true}]}, spec: {replicas: 1}, status: {replicas: 1}}` +
			"\n---\n" + `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-2, namespace: prod, uid: rs-2, ownerReferences: [{kind: Deployment, name: web, uid: d-1, controller: true}]}, spec: {replicas: 1}, status: {replicas: 1}}`
	}
	bound := "\n---\n" + claim(", volumeName: pv-1", "{phase: Bound}")
	older, newer := "\n---\n"+mounting("old", "1", "node-1", up), "\n---\n"+mounting("new", "2", "node-2", creating)
	attachment := "\n---\n" + `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: csi-1, uid: va}, spec: {nodeName: node-1, source: {persistentVolumeName: pv-1}}, status: {attached: true, detachError: {message: node is gone}}}`
	stories(t, map[string]story{
		"deadlock": {
			facts:   deployment("") + older + newer + bound,
			want:    []string{"VolumeDeadlock: deployment.apps/web -n prod is deadlocked: its new Pod waits for the old Pod's volume, and the old Pod is kept until the new one is ready"},
			blocked: "pod/old -n prod",
			next:    `kubectl patch deployment.apps/web --type=merge -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}' -n prod`,
			evidence: []string{
				"PersistentVolumeClaim data is ReadWriteOnce",
				"Pod old, from the older revision, uses it on node node-1",
				"Pod new, from the newer revision, waits for it on node node-2",
			},
		},
		"no deadlock: the old Pod may be deleted first": {
			facts: deployment(", strategy: {rollingUpdate: {maxUnavailable: 1}}") + older + newer + bound,
			want:  []string{"VolumeInUse: pod/new -n prod: waits for PersistentVolumeClaim data, which Pod old uses on node node-1"},
		},
		"no deadlock: Recreate": {
			facts: deployment(", strategy: {type: Recreate}") + older + newer + bound,
			want:  []string{"VolumeInUse: pod/new -n prod: waits for PersistentVolumeClaim data, which Pod old uses on node node-1"},
		},
		"no deadlock: both Pods are on one node": {
			facts: deployment("") + older + "\n---\n" + mounting("new", "2", "node-1", creating) + bound,
			want:  []string{"Starting: pod/new -n prod: is starting; nothing looks wrong so far"},
		},
		"volume locked by a Pod on the same node": {
			facts: deployment("") + older + "\n---\n" + mounting("new", "2", "node-1", crashing) + bound,
			want: []string{
				"VolumeShared: pod/new -n prod: exits while Pod old from the older revision uses PersistentVolumeClaim data on the same node: a program that locks its files cannot start before the old Pod is gone, and the rollout keeps the old Pod until this one is ready",
				"ContainerCrash: pod/new -n prod: container app exits with code 100 each time it starts",
			},
			blocked: "pod/old -n prod",
			next:    `kubectl patch deployment.apps/web --type=merge -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}' -n prod`,
		},
		"no lock: the old Pod may be deleted first": {
			facts: deployment(", strategy: {rollingUpdate: {maxUnavailable: 1}}") + older + "\n---\n" + mounting("new", "2", "node-1", crashing) + bound,
			want:  []string{"ContainerCrash: pod/new -n prod: container app exits with code 100 each time it starts"},
		},
		"no lock: the claim is ReadWriteMany": {
			facts: deployment("") + older + "\n---\n" + mounting("new", "2", "node-1", crashing) + strings.Replace(bound, "ReadWriteOnce", "ReadWriteMany", 1),
			want:  []string{"ContainerCrash: pod/new -n prod: container app exits with code 100 each time it starts"},
		},
		"still attached elsewhere": {
			facts:    deployment("") + newer + bound + attachment,
			want:     []string{"VolumeAttachedElsewhere: pod/new -n prod: waits for the volume of PersistentVolumeClaim data, which is still attached to node node-1"},
			blocked:  "volumeattachment.storage.k8s.io/csi-1",
			evidence: []string{"detaching failed: node is gone"},
			next:     "kubectl describe volumeattachment.storage.k8s.io/csi-1",
		},
		"not mounted": {
			facts: waiting("ContainerCreating", "") + "\n---\n" + warning("FailedMount", "MountVolume.SetUp failed"),
			want:  []string{"VolumeNotMounted: pod/web-1 -n prod: one of its volumes cannot be mounted (FailedMount)"},
		},
		"no sandbox": {
			facts: waiting("ContainerCreating", "") + "\n---\n" + warning("FailedCreatePodSandBox", "network plugin is not ready"),
			want:  []string{"SandboxFailed: pod/web-1 -n prod: its node cannot set up the Pod (FailedCreatePodSandBox); no container has started"},
		},
	})
}

// A warning that misses an object that exists now is older than the object.
func TestWarningsOlderThanWhatTheyMiss(t *testing.T) {
	warned := func(uid, reason, message string) string {
		return "\n---\n" + `{apiVersion: v1, kind: Event, metadata: {name: e, namespace: prod, uid: e}, type: Warning, reason: ` + reason +
			`, message: '` + message + `', involvedObject: {namespace: prod, uid: ` + uid + `}, lastTimestamp: "2026-01-01T11:50:00Z"}`
	}
	const bound = "\n---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: prod}, status: {phase: Bound}}"
	mounting := strings.Replace(waiting("ContainerCreating", ""), "containers: [", "volumes: [{name: cfg, configMap: {name: settings, optional: true}}], containers: [", 1)
	const unmounted = `MountVolume.SetUp failed for volume "cfg" : configmap "settings" not found`
	stories(t, map[string]story{
		"the class exists by now": {
			facts: claim(", storageClassName: fast", "{phase: Pending}") + "\n---\n" + class("csi.example.com", "Immediate") + warned("pvc-1", "ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`),
			want:  []string{"NoProvisioner: persistentvolumeclaim/data -n prod: waits for csi.example.com to create its volume, with no sign of progress: is that provisioner installed and running?"},
		},
		"another class is missing": {
			facts:  claim(", storageClassName: fast", "{phase: Pending}") + "\n---\n" + class("csi.example.com", "Immediate") + warned("pvc-1", "ProvisioningFailed", `storageclass.storage.k8s.io "slow" not found`),
			absent: []string{"StorageClass.storage.k8s.io/slow"},
			want:   []string{"ProvisioningFailed: persistentvolumeclaim/data -n prod: its volume could not be created by csi.example.com"},
		},
		"the ConfigMap exists by now": {
			facts: mounting + warned("pod-1", "FailedMount", unmounted),
			want:  []string{"Starting: pod/web-1 -n prod: is starting; nothing looks wrong so far"},
		},
		"the ConfigMap is missing": {
			facts:  mounting + warned("pod-1", "FailedMount", unmounted),
			absent: []string{"ConfigMap/prod/settings"},
			want:   []string{"VolumeNotMounted: pod/web-1 -n prod: one of its volumes cannot be mounted (FailedMount)"},
		},
		"no ResourceClaimTemplate": {
			facts:   claiming + bound + warned("pod-2", "FailedResourceClaimCreation", noTemplate),
			absent:  []string{"ResourceClaimTemplate.resource.k8s.io/prod/gpu"},
			want:    []string{"ReferenceMissing: pod/train -n prod: needs ResourceClaimTemplate gpu, which does not exist"},
			blocked: "resourceclaimtemplate.resource.k8s.io/gpu -n prod",
			next:    "kubectl get resourceclaimtemplates -n prod",
		},
		"the ResourceClaimTemplate exists by now": {
			facts: claiming + warned("pod-2", "FailedResourceClaimCreation", noTemplate),
			want:  []string{"Unschedulable: pod/train -n prod: fits none of 1 node: waiting for dynamic resource claim"},
		},
		"a ResourceClaim cannot be created": {
			facts: claiming + warned("pod-2", "FailedResourceClaimCreation", "PodResourceClaim gpu: create resource claim: admission refused"),
			want:  []string{"ResourceClaimFailed: pod/train -n prod: the ResourceClaim that it needs cannot be created: PodResourceClaim gpu: create resource claim: admission refused"},
		},
	})
}

const (
	claiming = `apiVersion: v1
kind: Pod
metadata: {name: train, namespace: prod, uid: pod-2}
spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}], containers: [{name: app}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available: waiting for dynamic resource claim."}]}
`
	noTemplate = `PodResourceClaim gpu: resource claim template "gpu": resourceclaimtemplate.resource.k8s.io "gpu" not found`
)

// A ResourceClaim is allocated when its Pod is scheduled, so the Pod shows why it is not.
func TestResourceClaims(t *testing.T) {
	const unscheduledPod = "Unschedulable: pod/train -n prod: fits none of 1 node: waiting for dynamic resource claim"
	resourceClaim := func(metadata, status string) string {
		return `{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: gpu, namespace: prod, uid: rc-1` + metadata + `}, spec: {}, status: {` + status + "}}\n---\n" + claiming
	}
	stories(t, map[string]story{
		"reserved for a Pod":  {facts: resourceClaim("", "reservedFor: [{resource: pods, name: train, uid: pod-2}]"), want: []string{unscheduledPod}},
		"reserved for no Pod": {facts: resourceClaim("", "reservedFor: [{apiGroup: example.com, resource: jobs, name: train}]")},
		"made for a Pod":      {facts: resourceClaim(", ownerReferences: [{apiVersion: v1, kind: Pod, name: train, uid: pod-2, controller: true}]", ""), want: []string{unscheduledPod}},
		"reserved and made":   {facts: resourceClaim(", ownerReferences: [{apiVersion: v1, kind: Pod, name: train, uid: pod-2, controller: true}]", "reservedFor: [{resource: pods, name: train, uid: pod-2}]"), want: []string{unscheduledPod}},
	})
}
