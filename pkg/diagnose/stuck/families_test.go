package stuck

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

func namespaced(conditions, finalizers string) string {
	return `{apiVersion: v1, kind: Namespace, metadata: {name: shop, ` + dying + `}, spec: {finalizers: [` + finalizers + `]}, status: {conditions: [` + conditions + `]}}`
}

const discoveryFailed = `{type: NamespaceDeletionDiscoveryFailure, status: "True", reason: DiscoveryFailed, message: unable to retrieve the complete list}`

func apiService(status string) string {
	return `
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.metrics.example.com}
spec: {service: {namespace: ops, name: metrics}}
status: {conditions: [{type: Available, status: "` + status + `", reason: MissingEndpoints, message: no endpoints}]}`
}

// Edge case 59.
func TestNamespaces(t *testing.T) {
	runAll(t, map[string]situation{
		"an unrelated API is down": {
			objects: namespaced(discoveryFailed, "kubernetes") + apiService("False"),
			codes:   []string{APIServiceUnavailable}, blockedBy: "APIService/v1.metrics.example.com",
			says: []string{"MissingEndpoints: no endpoints", "service/metrics -n ops does not exist", "kubectl delete apiservice"},
		},
		"its workload is scaled to zero": {
			objects: namespaced(discoveryFailed, "kubernetes") + apiService("False") + `
---
{apiVersion: v1, kind: Service, metadata: {name: metrics, namespace: ops}, spec: {selector: {app: op}}}` + operatorWith("{}", 0),
			codes: []string{APIServiceUnavailable}, blockedBy: "APIService/v1.metrics.example.com",
			says: []string{"kubectl scale deployment.apps/widget-operator -n ops --replicas=1"},
		},
		"the condition is out of date": { // k/k#72244
			objects: namespaced(discoveryFailed, "kubernetes") + apiService("True"),
			codes:   []string{ConditionStale}, says: []string{"every APIService is available;"},
		},
		"the contents are gone, despite the conditions": {
			objects: namespaced(`{type: NamespaceContentRemaining, status: "True", message: "pods. has 1"}`, "kubernetes"),
			codes:   []string{ConditionStale}, says: []string{"NamespaceContentRemaining: pods. has 1"},
		},
		"a finalizer in its spec": {
			objects: namespaced("", "kubernetes, example.com/tenant"),
			codes:   []string{NamespaceFinalizer}, says: []string{"example.com/tenant", "kubectl k8sconnect delete namespace/shop --remove-finalizer=example.com/tenant"},
		},
		"causes of its contents, with counts": {
			objects: namespaced("", "kubernetes") + "\n---" + held + "---" + strings.Replace(held, "name: w,", "name: x,", 1) + operatorWith("{}", 0),
			codes:   []string{FinalizerControllerScaledDown, ContentRemains}, blockedBy: "Deployment/ops/widget-operator",
			says: []string{"holds back 2 objects in it: widget.example.com/w -n shop, widget.example.com/x -n shop"},
		},
		"a cause that will block an object not yet deleted": {
			objects: namespaced("", "kubernetes") + "\n---" + strings.Replace(held, dying, "uid: u1", 1) + operatorWith("{}", 0),
			codes:   []string{FinalizerControllerScaledDown, ContentRemains}, blockedBy: "Deployment/ops/widget-operator",
			says: []string{"not deleted yet"},
		},
		"a finalizer without a controller, of an object not yet deleted": {
			objects: namespaced("", "kubernetes") + "\n---" + strings.Replace(by("k8sconnect"), dying, "uid: u1", 1),
			codes:   []string{FinalizerControllerGone, ContentRemains}, says: []string{"not deleted yet"},
		},
		"an object not yet deleted that nothing blocks": {
			objects: namespaced("", "kubernetes") + "\n---" + strings.Replace(held, dying, "uid: u1", 1) + operatorWith("{readyReplicas: 1}", 1),
			answers: diagnosetest.Answers{May: []string{"system:serviceaccount:ops:op update"}},
			codes:   []string{ContentRemains}, says: []string{"this may still happen"},
		},
		"a webhook refuses the deletion of its contents": {
			objects: namespaced(`{type: NamespaceDeletionContentFailure, status: "True", message: 'admission webhook "guard.example.com" denied the request: never'}`, "kubernetes") +
				"\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}" +
				strings.ReplaceAll(webhook, "UPDATE", "DELETE") + `
---
{apiVersion: v1, kind: Service, metadata: {name: guard, namespace: ops}, spec: {type: ExternalName, externalName: a.example.com}}`,
			codes: []string{WebhookRefuses, ContentRemains}, blockedBy: "ValidatingWebhookConfiguration/guard", says: []string{"refuses the deletion"},
		},
		"a webhook at a URL refuses it": {
			objects: namespaced(`{type: NamespaceDeletionContentFailure, status: "True", message: 'admission webhook "guard.example.com" denied the request: never'}`, "kubernetes") +
				"\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}" +
				strings.NewReplacer("UPDATE", "DELETE", "service: {namespace: ops, name: guard}", `url: "https://guard.example.com"`).Replace(webhook),
			codes: []string{WebhookRefuses, ContentRemains}, blockedBy: "ValidatingWebhookConfiguration/guard", says: []string{"refuses the deletion"},
		},
		"a webhook at a URL does not answer": {
			objects: namespaced(`{type: NamespaceDeletionContentFailure, status: "True", message: 'failed calling webhook "guard.example.com": connection refused'}`, "kubernetes") +
				"\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}" +
				strings.NewReplacer("UPDATE", "DELETE", "service: {namespace: ops, name: guard}", `url: "https://guard.example.com"`).Replace(webhook),
			codes: []string{WebhookUnreachable, ContentRemains}, blockedBy: "ValidatingWebhookConfiguration/guard", says: []string{"it is called at"},
		},
		"a webhook with a service does not answer": {
			objects: namespaced(`{type: NamespaceDeletionContentFailure, status: "True", message: 'Internal error occurred: failed calling webhook "guard.example.com": timeout'}`, "kubernetes") +
				"\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}" +
				strings.ReplaceAll(webhook, "UPDATE", "DELETE") + `
---
{apiVersion: v1, kind: Service, metadata: {name: guard, namespace: ops}, spec: {type: ExternalName, externalName: a.example.com}}`,
			codes: []string{WebhookUnreachable, ContentRemains}, blockedBy: "ValidatingWebhookConfiguration/guard", says: []string{"does not answer"},
		},
		"its contents cannot be deleted": {
			objects: namespaced(`{type: NamespaceDeletionContentFailure, status: "True", message: "no"}`, "kubernetes") +
				"\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}",
			codes: []string{DeletionRefused, ContentRemains}, blockedBy: "Widget/shop/w", says: []string{"kubectl delete widget.example.com/w -n shop --dry-run=server"},
		},
		"its contents may not be read": { // edge case 67
			objects: namespaced("", "kubernetes") + "\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}}",
			answers: diagnosetest.Answers{Failing: map[string]error{"Secret": diagnosetest.Forbidden("secrets")}},
			codes:   []string{NotPermitted}, says: []string{"list secret -n shop"},
		},
	})
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com, ` + dying + `, finalizers: [customresourcecleanup.apiextensions.k8s.io]}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true}]
`

// Edge case 64.
func TestDefinitions(t *testing.T) {
	const converted = `  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: ops, name: convert}}}}
`
	const initializing = `status: {conditions: [{type: Terminating, status: "True", reason: InstanceDeletionFailed, message: 'could not list instances: storage is (re)initializing'}]}`
	runAll(t, map[string]situation{
		"instances": {
			objects: definition + "---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}",
			codes:   []string{InstancesRemain}, says: []string{"1 widget.example.com"},
		},
		"instances with a finalizer": {
			objects: definition + "---" + held, codes: []string{FinalizerControllerGone, InstancesRemain},
			says: []string{"holds back 1 object in it"},
		},
		"listing failed once, and no instance is left": { // "storage is (re)initializing"
			objects: definition + initializing, codes: []string{ConditionStale},
			says: []string{"no object of the kind is left", "storage is (re)initializing", "kubectl annotate customresourcedefinition.apiextensions.k8s.io/widgets.example.com"},
		},
		"listing failed once, and nothing deletes the instances": {
			objects: definition + initializing + "\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}",
			codes:   []string{InstancesRemain}, says: []string{"storage is (re)initializing", "kubectl annotate customresourcedefinition"},
		},
		"the instances were deleted too late": {
			objects: definition + strings.Replace(initializing, "InstanceDeletionFailed", "InstanceDeletionCheck", 1), codes: []string{ConditionStale},
		},
		"instances are unknown": {
			objects: definition + initializing + "\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}",
			answers: diagnosetest.Answers{Failing: map[string]error{"Widget": apierrors.NewTooManyRequests("storage is (re)initializing", 1)}},
			codes:   []string{NotRead},
		},
		"conversion without a service": {
			objects: definition + converted, codes: []string{ConversionWebhookDown},
			says: []string{"service/convert -n ops does not exist", `"strategy":"None"`}, blockedBy: "CustomResourceDefinition/widgets.example.com",
		},
		"conversion works, and something else refuses": {
			objects: strings.TrimSuffix(definition, "\n") + "\n" + strings.Replace(converted, "service: {namespace: ops, name: convert}", "url: 'https://x.example.com'", 1) +
				`status: {conditions: [{type: Terminating, status: "True", reason: InstanceDeletionFailed, message: 'admission webhook "guard.example.com" denied the request'}]}` +
				"\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}",
			codes: []string{InstancesRemain}, says: []string{"denied the request"},
		},
		"a throttled request says nothing about the conversion": {
			objects: definition + strings.Replace(converted, "service: {namespace: ops, name: convert}", "url: 'https://x.example.com'", 1) +
				"---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}",
			answers: diagnosetest.Answers{Failing: map[string]error{"Widget": apierrors.NewTooManyRequests("later", 1)}},
			codes:   []string{NotRead}, says: []string{"list widget.example.com"}, // One kind fails, not the server.
		},
		"conversion fails, which is not a failure of the server": { // k/k#71925
			objects: definition + strings.Replace(converted, "service: {namespace: ops, name: convert}", "url: 'https://x.example.com'", 1) +
				"---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}",
			answers: diagnosetest.Answers{Failing: map[string]error{"Widget": apierrors.NewInternalError(errors.New("conversion webhook failed"))}},
			codes:   []string{ConversionWebhookDown}, says: []string{"conversion webhook failed", "https://x.example.com"},
			blockedBy: "CustomResourceDefinition/widgets.example.com",
		},
		"an instance whose conversion is down": {
			objects: held + "---" + strings.Replace(definition, dying, "uid: u2", 1) + converted,
			codes:   []string{ConversionWebhookDown, FinalizerControllerGone}, blockedBy: "CustomResourceDefinition/widgets.example.com",
		},
	})
}

// Edge case 62.
func TestDependents(t *testing.T) {
	const (
		owner  = `{apiVersion: example.com/v1, kind: Shop, metadata: {name: o, namespace: shop, ` + dying + `, finalizers: [foregroundDeletion]}}`
		orphan = `{apiVersion: example.com/v1, kind: Shop, metadata: {name: o, namespace: shop, ` + dying + `, finalizers: [orphan]}}`
		refers = `ownerReferences: [{apiVersion: example.com/v1, kind: Shop, name: o, uid: u1, blockOwnerDeletion: true}`
	)
	runAll(t, map[string]situation{
		"a dependent with a finalizer": {
			objects: owner + "\n---" + strings.Replace(held, "uid: u1, ", "uid: u9, "+refers+"], ", 1),
			codes:   []string{FinalizerControllerGone, ForegroundDependents}, says: []string{"widget.example.com/w -n shop"},
		},
		"a dependent that is not being deleted": {
			objects: owner + `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: shop, ` + refers + `, {apiVersion: v1, kind: Pod, name: other, uid: u3}]}}`,
			codes: []string{ForegroundDependents}, says: []string{"is not being deleted", "another owner, pod/other"}, blockedBy: "ConfigMap/shop/d",
		},
		"a dependent that does not block": {
			objects: owner + `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: shop, ownerReferences: [{apiVersion: example.com/v1, kind: Shop, name: o, uid: u1}]}}`,
			codes: []string{BuiltInFinalizer}, says: []string{"garbage collector"},
		},
		"a dependent in another namespace": {
			objects: owner + `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: elsewhere, ` + refers + `]}}`,
			codes: []string{OwnerInOtherNamespace}, blockedBy: "ConfigMap/elsewhere/d",
		},
		"orphans": {
			objects: orphan + `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: shop, ` + refers + `]}}`,
			codes: []string{OrphaningDependents}, blockedBy: "ConfigMap/shop/d",
		},
		"objects that depend on each other": {
			objects: strings.Replace(owner, dying, dying+", "+strings.Replace(refers, "uid: u1", "uid: u2", 1)+"]", 1) + "\n---\n" +
				strings.NewReplacer("name: o", "name: p", "uid: u1", "uid: u2", "namespace: shop,", "namespace: shop, "+refers+"],").Replace(owner),
			codes: []string{ForegroundDependents}, blockedBy: "Shop/shop/p",
		},
	})
}

// Edge case 63.
func TestStorage(t *testing.T) {
	const (
		claim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, ` + dying + `, finalizers: [kubernetes.io/pvc-protection]}}`
		uses  = `volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]`
		pv    = `{apiVersion: v1, kind: PersistentVolume, metadata: {name: v, ` + dying + `, finalizers: [kubernetes.io/pv-protection]}, spec: {claimRef: {namespace: shop, name: data, uid: u7}}}`
	)
	runAll(t, map[string]situation{
		"a pod of a deployment": {
			objects: claim + `
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r, controller: true}]}
spec: {nodeName: node-1, ` + uses + `}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: e, controller: true}]}`,
			codes: []string{ClaimInUse}, says: []string{"kubectl scale deployment.apps/web -n shop --replicas=0"}, blockedBy: "Pod/shop/p",
		},
		"a finished pod": {
			objects: claim + `
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {nodeName: node-1, ` + uses + `}, status: {phase: Succeeded}}`,
			codes: []string{ClaimInUse}, says: []string{"holds the claim until the pod is deleted", "kubectl delete pod/p -n shop"}, blockedBy: "Pod/shop/p",
		},
		"a stuck pod": {
			objects: claim + `
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, ` + dying + `, deletionGracePeriodSeconds: 0}, spec: {nodeName: node-1, ` + uses + `}}`,
			codes: []string{NodeGone, ClaimInUse}, says: []string{"node node-1 does not exist", "--grace-period=0 --force"}, blockedBy: "Node/node-1",
		},
		"a pod without a node": {
			objects: claim + `
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {` + uses + `}}`,
			codes: []string{BuiltInFinalizer},
		},
		"a bound volume": {
			objects: pv + "\n---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, uid: u7}}",
			codes:   []string{VolumeBound}, blockedBy: "PersistentVolumeClaim/shop/data",
		},
		"bound to a claim that was created again": {
			objects: pv + "\n---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, uid: u8}}",
			codes:   []string{BuiltInFinalizer}, says: []string{"its claim is gone"},
		},
		"attached to a node that is gone": { // k/k#69697
			objects: pv + `
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: a}
spec: {attacher: csi.example.com, nodeName: node-1, source: {persistentVolumeName: v}}
status: {attached: true, detachError: {message: timed out}}`,
			codes: []string{VolumeDetachFailed, NodeGone, VolumeAttached, BuiltInFinalizer}, says: []string{"timed out"}, blockedBy: "VolumeAttachment/a",
		},
		"a load balancer without a controller": {
			objects: `{apiVersion: v1, kind: Service, metadata: {name: lb, namespace: shop, ` + dying + `, finalizers: [service.kubernetes.io/load-balancer-cleanup]}}`,
			codes:   []string{LoadBalancerControllerGone}, says: []string{"remains at the provider"},
		},
		"a load balancer with a controller": {
			objects: `{apiVersion: v1, kind: Service, metadata: {name: lb, namespace: shop, ` + dying + `, finalizers: [service.kubernetes.io/load-balancer-cleanup]}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: cloud-controller-manager, namespace: kube-system}
spec: {holderIdentity: cp-1, renewTime: "2026-01-01T11:59:58.000000Z", leaseDurationSeconds: 15}`,
			codes: []string{FinalizerControllerSilent}, blockedBy: "Lease/kube-system/cloud-controller-manager",
		},
	})
}

func TestPods(t *testing.T) {
	pod := func(deleted, status string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, labels: {a: b}, deletionTimestamp: "` + deleted + `", deletionGracePeriodSeconds: 30}, ` +
			`spec: {nodeName: node-1, volumes: [{name: d, nfs: {server: nas, path: /}}]}, status: {` + status + `}}`
	}
	const (
		past    = "2026-01-01T11:59:00Z"
		ready   = "\n---\n{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: 'True'}]}}"
		dark    = "\n---\n{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown, message: lost}]}}"
		running = "containerStatuses: [{name: app, state: {running: {}}}]"
	)
	runAll(t, map[string]situation{
		"within its grace period": {
			objects: pod("2026-01-01T12:00:20Z", running), codes: []string{PodGracePeriod}, says: []string{"ends in 20s", "container app is running"},
		},
		"past its grace period": {
			objects: pod(past, running) + ready, codes: []string{PodPastGracePeriod}, says: []string{"ended 60s ago"}, blockedBy: "Node/node-1",
		},
		"its containers have stopped": {
			objects: pod(past, "containerStatuses: [{name: app, state: {terminated: {exitCode: 0}}}]") + ready,
			codes:   []string{PodUnmounting}, says: []string{"NFS nas"}, blockedBy: "Node/node-1",
		},
		"its node is not ready, and a budget is suspected": { // edge case 65
			objects: pod(past, running) + dark + "\n---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: shop}, spec: {selector: {matchLabels: {a: b}}}}",
			codes:   []string{NodeNotReady}, says: []string{"PodDisruptionBudget b is not the reason", "none if the machine is off"}, blockedBy: "Node/node-1",
		},
		"its node is gone": {objects: pod(past, running), codes: []string{NodeGone}, blockedBy: "Node/node-1"},
		"its node may not be read": { // edge case 67
			objects: pod(past, running), answers: diagnosetest.Answers{Failing: map[string]error{"Node": diagnosetest.Forbidden("nodes")}},
			codes: []string{PodPastGracePeriod, NotPermitted}, blockedBy: "Node/node-1",
		},
	})
}

// Errors of the server come first, because facts that it does not return are unknown.
func TestServer(t *testing.T) {
	failing := func(err error) diagnosetest.Answers {
		return diagnosetest.Answers{Failing: map[string]error{"Deployment": err, "Lease": err}}
	}
	unreadable := &apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: 500, Reason: metav1.StatusReasonStoreReadError, Message: "x"}}
	runAll(t, map[string]situation{
		"fails":     {objects: held, answers: failing(apierrors.NewInternalError(errors.New("etcd"))), codes: []string{ServerFailing, FinalizerUnknown}, says: []string{"etcd"}},
		"is slow":   {objects: held, answers: failing(diagnose.ErrSlow), codes: []string{FinalizerUnknown, NotRead}},
		"throttles": {objects: held, answers: failing(apierrors.NewTooManyRequests("later", 1)), codes: []string{ServerThrottling, FinalizerUnknown}},
		"one kind is not ready yet, so the server is not at fault": {
			objects: namespaced("", "kubernetes") + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}" +
				"\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: other}}",
			answers: diagnosetest.Answers{Failing: map[string]error{"Widget": apierrors.NewTooManyRequests("storage is (re)initializing", 1)}},
			codes:   []string{ContentRemains, NotRead},
		},
		"one kind is slow, so the server is not at fault": {
			objects: namespaced("", "kubernetes") + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}" +
				"\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: other}}",
			answers: diagnosetest.Answers{Failing: map[string]error{"Widget": diagnose.ErrSlow}},
			codes:   []string{ContentRemains, NotRead},
		},
		"a slow dry run says nothing about the update": {
			objects: held, answers: diagnosetest.Answers{Refusal: diagnose.ErrSlow}, codes: []string{FinalizerControllerGone, NotRead},
		},
		"cannot read": { // edge case 66
			objects: namespaced("", "kubernetes") + "\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}}",
			answers: diagnosetest.Answers{Failing: map[string]error{"Secret": unreadable}},
			codes:   []string{Undecryptable}, says: []string{"list secret -n shop", "EncryptionConfiguration"},
		},
	})
}
