package unready_test

import (
	"strings"
	"testing"
)

func widget(metadata, status string) string {
	return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: prod, uid: w-1, creationTimestamp: "2026-01-01T11:50:00Z"` + metadata + `}, spec: {}` + status + `}`
}

func TestCustom(t *testing.T) {
	const (
		crd = "\n---\n" + `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com, labels: {app.kubernetes.io/name: widgets}},
  spec: {group: example.com, names: {kind: Widget, plural: widgets}, versions: [{name: v1, subresources: {status: {}}}]}}`
		plain = "\n---\n" + `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget}, versions: [{name: v1}]}}`
		by    = `, generation: 3, managedFields: [{manager: kubectl, operation: Apply, time: "2026-01-01T11:59:00Z"}, {manager: widget-operator, operation: Update, subresource: status, time: "2026-01-01T11:55:00Z"}]`
	)
	operator := func(replicas, ready string) string {
		return "\n---\n" + `{apiVersion: apps/v1, kind: Deployment, metadata: {name: op, namespace: system, uid: op, labels: {app.kubernetes.io/name: widgets}}, spec: {replicas: ` + replicas + `, template: {spec: {containers: [{name: c, image: "registry.example/widget-operator:1@sha256:aa"}]}}}, status: {readyReplicas: ` + ready + `}}`
	}
	stories(t, map[string]story{
		"no controller": {
			facts: widget("", "") + crd,
			want:  []string{"NoController: widget.example.com/w -n prod: no status from any controller for 10m; is one installed, and does it watch this namespace?"},
			next:  "kubectl describe customresourcedefinition.apiextensions.k8s.io/widgets.example.com",
		},
		"a kind without a status": {facts: widget("", "") + plain},
		"no controller: it is scaled to zero": {
			facts:   widget("", "") + crd + operator("0", "0"),
			want:    []string{"ControllerDown: widget.example.com/w -n prod: no status from any controller for 10m: the controller, deployment.apps/op -n system, is scaled to zero"},
			blocked: "deployment.apps/op -n system",
			next:    "kubectl scale deployment.apps/op --replicas=1 -n system",
		},
		"not observed, and the controller is not ready": {
			facts:    widget(by, ", status: {observedGeneration: 2}") + crd + operator("1", "0"),
			want:     []string{"ControllerDown: widget.example.com/w -n prod: the controller has not observed the latest change yet: the controller, deployment.apps/op -n system, is not ready"},
			evidence: []string{".metadata.generation is 3, .status.observedGeneration 2", "its status is written by widget-operator"},
		},
		"not observed, with a generation that is a string (edge case 47)": {
			facts:    widget(by, `, status: {observedGeneration: "2"}`) + crd + operator("1", "1"),
			want:     []string{"NotObserved: widget.example.com/w -n prod: the controller has not observed the latest change yet"},
			evidence: []string{"its controller is probably deployment.apps/op -n system, which is ready"},
			next:     "kubectl logs deployment.apps/op --all-containers --tail=100 -n system",
		},
		"whether the controller runs is unknown (edge case 67)": {
			facts:    widget(by, `, status: {observedGeneration: 2}`) + crd,
			unread:   []string{"Deployment.apps/"},
			want:     []string{"NotObserved: widget.example.com/w -n prod: the controller has not observed the latest change yet", "NotAllowed: you are not allowed to read these, so their state is unknown: deployments"},
			evidence: []string{"it is unknown whether its controller is running: you are not allowed to list Deployments"},
			next:     "kubectl describe widget.example.com/w -n prod",
		},
		"conditions": {
			facts: widget("", `, status: {conditions: [{type: Reconciling, status: "True", reason: Working}, {type: Ready, status: "False", reason: NoDisk, message: "full"}, {type: Stalled, status: "True", reason: Broken}, {type: Odd, status: "False"}]}`),
			want: []string{
				"Stalled: widget.example.com/w -n prod is Stalled (Broken)",
				"ConditionFalse: widget.example.com/w -n prod is not Ready (NoDisk): full",
				"Reconciling: widget.example.com/w -n prod is still being reconciled (Working)",
			},
		},
		"status fields": {
			facts: widget("", `, status: {phase: Failed, message: "the disk is full", health: red, errorMessage: "no space left", conditions: [{type: DiskFull, status: "True", reason: VolumeExpandFailed}]}`),
			want: []string{
				"Stalled: widget.example.com/w -n prod is DiskFull (VolumeExpandFailed)",
				"StatusSays: widget.example.com/w -n prod: its health is red: the disk is full",
				"StatusSays: widget.example.com/w -n prod: its phase is Failed: the disk is full",
				"StatusSays: widget.example.com/w -n prod: its errorMessage is no space left",
			},
		},
		"an unknown condition": {
			facts: widget("", `, status: {conditions: [{type: Ready, status: Unknown, reason: Checking}]}`),
			want:  []string{"ConditionUnknown: widget.example.com/w -n prod: its condition Ready is Unknown (Checking)"},
		},
		"a condition about an older generation (edge case 47)": {
			facts: widget(", generation: 3", `, status: {conditions: [{type: Ready, status: "False", reason: Old, observedGeneration: 2}]}`),
		},
		"only events": {
			facts: widget("", ", status: {phase: Odd}") + "\n---\n" + `{apiVersion: v1, kind: Event, metadata: {name: e, namespace: prod}, type: Warning, reason: SyncFailed, message: no quota left, involvedObject: {uid: w-1}}`,
			want:  []string{"WarningEvent: widget.example.com/w -n prod: SyncFailed: no quota left"},
		},
		"unready Pod of the object": {
			facts: widget("", `, status: {conditions: [{type: Ready, status: "False", reason: Waiting}]}`) + "\n---\n" +
				`{apiVersion: v1, kind: Pod, metadata: {name: w-0, namespace: prod, uid: p, ownerReferences: [{kind: Widget, name: w, uid: w-1, controller: true}]}, spec: {}, status: {conditions: [{type: PodScheduled, status: "False", message: "no nodes available to schedule pods"}]}}`,
			want: []string{"NoNodes: pod/w-0 -n prod: there are no nodes to run on", "ConditionFalse: widget.example.com/w -n prod is not Ready (Waiting)"},
		},
	})
}

func TestDefinitions(t *testing.T) {
	stories(t, map[string]story{
		"names": {
			facts: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.example.com}, spec: {group: example.com, names: {kind: Widget, plural: gadgets}},
  status: {conditions: [{type: NamesAccepted, status: "False", reason: KindConflict, message: '"Widget" is already in use'}, {type: Established, status: "False", reason: NotAccepted}]}}` +
				"\n---\n" + `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com}, status: {acceptedNames: {kind: Widget, plural: widgets}}}`,
			want:    []string{"NamesConflict: customresourcedefinition.apiextensions.k8s.io/gadgets.example.com is not served: another CRD in its group already has one of its names (KindConflict)"},
			blocked: "customresourcedefinition.apiextensions.k8s.io/widgets.example.com",
		},
		"schema": {
			facts: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.example.com}, status: {conditions: [{type: NonStructuralSchema, status: "True", reason: Violations, message: "spec.type: Required value"}, {type: Established, status: "False"}]}}`,
			want:  []string{"SchemaNotStructural: customresourcedefinition.apiextensions.k8s.io/a.example.com has a schema that is not structural: spec.type: Required value"},
		},
		"a protected group": {
			facts: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.x.k8s.io}, status: {conditions: [{type: Established, status: "True"}, {type: KubernetesAPIApprovalPolicyConformant, status: "False", reason: MissingAnnotation, message: protected groups must have approval annotation}]}}`,
			want:  []string{"GroupProtected: customresourcedefinition.apiextensions.k8s.io/a.x.k8s.io is in a group reserved for Kubernetes, without the required approval"},
		},
		"not established yet": {
			facts: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.example.com}, status: {conditions: [{type: Established, status: "False", reason: Installing}]}}`,
			want:  []string{"NotEstablished: customresourcedefinition.apiextensions.k8s.io/a.example.com is not established yet"},
		},
		"an API without its Service": {
			facts:   `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.x.example.com}, spec: {service: {namespace: prod, name: x}}, status: {conditions: [{type: Available, status: "False", reason: ServiceNotFound, message: gone}]}}`,
			absent:  []string{"Service/prod/x"},
			want:    []string{"ServiceMissing: apiservice.apiregistration.k8s.io/v1.x.example.com is not available: its service/x -n prod does not exist"},
			blocked: "service/x -n prod",
		},
		"an API that fails": {
			facts: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.x.example.com}, spec: {service: {namespace: prod, name: x}}, status: {conditions: [{type: Available, status: "False", reason: FailedDiscoveryCheck, message: "x509: unknown authority"}]}}` + "\n---\n" +
				`{apiVersion: v1, kind: Service, metadata: {name: x, namespace: prod}, spec: {type: ExternalName}}`,
			want: []string{"APIServiceUnavailable: apiservice.apiregistration.k8s.io/v1.x.example.com is not available (FailedDiscoveryCheck)"},
		},
		"no metrics": {
			facts:  `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: prod}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}, status: {conditions: [{type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: unable}]}}`,
			absent: []string{"APIService.apiregistration.k8s.io/v1beta1.metrics.k8s.io"},
			want:   []string{"NoMetrics: horizontalpodautoscaler.autoscaling/web -n prod does not scale: nothing in the cluster serves the resource metrics API (metrics-server)"},
		},
		"nothing to scale": {
			facts:   `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: prod}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}, status: {conditions: [{type: AbleToScale, status: "False", reason: FailedGetScale, message: not found}]}}`,
			want:    []string{"AutoscalerInactive: horizontalpodautoscaler.autoscaling/web -n prod does not scale (FailedGetScale): not found"},
			blocked: "deployment.apps/web -n prod",
		},
	})
}

func TestJobs(t *testing.T) {
	job := func(spec, status string) string {
		return `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: prod, uid: j-1}, spec: {` + everyPod + `, ` + spec + `}, status: {` + status + `}}`
	}
	stories(t, map[string]story{
		"suspended": {
			facts: job("suspend: true", ""),
			want:  []string{"Suspended: job.batch/j -n prod is suspended: it runs no Pods"},
			next:  `kubectl patch job.batch/j --type=merge -p '{"spec":{"suspend":false}}' -n prod`,
		},
		"failed too often": {
			facts: job("backoffLimit: 2", `failed: 3, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]`) + "\n---\n" +
				`{apiVersion: v1, kind: Pod, metadata: {name: j-x, namespace: prod, uid: p, ownerReferences: [{kind: Job, name: j, uid: j-1, controller: true}]}, spec: {nodeName: node-1, restartPolicy: Never, containers: [{name: app}]}, status: {phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 3, reason: Error}}}]}}`,
			want: []string{
				"ContainerCrash: pod/j-x -n prod: container app exits with code 3",
				"JobBackoffLimit: job.batch/j -n prod has failed: its Pods failed more often than its backoffLimit of 2 allows",
			},
			next: "kubectl logs j-x -c app -n prod",
		},
		"deadline exceeded": {
			facts: job("activeDeadlineSeconds: 90", `conditions: [{type: Failed, status: "True", reason: DeadlineExceeded}]`),
			want:  []string{"JobDeadline: job.batch/j -n prod has failed: it took longer than its activeDeadlineSeconds of 1m30s"},
		},
		"failed otherwise": {
			facts: job("", `failed: 1, conditions: [{type: Failed, status: "True", reason: PodFailurePolicy, message: exit code 42}]`),
			want:  []string{"JobFailed: job.batch/j -n prod has failed (PodFailurePolicy) and will not be retried"},
		},
		"a CronJob whose Jobs are refused": {
			facts: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: c, namespace: prod, uid: c-1}, spec: {suspend: false}}` + "\n---\n" +
				`{apiVersion: v1, kind: Event, metadata: {name: e, namespace: prod}, type: Warning, reason: FailedCreate, message: "Error creating job: exceeded quota", involvedObject: {uid: c-1}}`,
			want:     []string{"CronJobNotStarted: cronjob.batch/c -n prod cannot start its Job (FailedCreate)"},
			evidence: []string{"event FailedCreate: Error creating job: exceeded quota"},
		},
		"a CronJob": {
			facts: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: c, namespace: prod}, spec: {suspend: true}}`,
			want:  []string{"Suspended: cronjob.batch/c -n prod is suspended: it starts no Jobs"},
		},
	})
}

func TestNetwork(t *testing.T) {
	service := func(spec string) string {
		return `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: prod, uid: svc}, spec: {ports: [{port: 80, targetPort: http}]` + spec + `}}`
	}
	slice := func(ready string) string {
		return "\n---\n" + `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-x, namespace: prod, labels: {kubernetes.io/service-name: web}}, ports: [{port: 80}], endpoints: [{addresses: [10.0.0.1], conditions: {ready: ` + ready + `}}]}`
	}
	ready := "\n---\n" + `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: prod, labels: {app: web}}, spec: {containers: [{name: app, ports: [{name: web}]}]}, status: {conditions: [{type: Ready, status: "True"}]}}`
	stories(t, map[string]story{
		"answers": {facts: service(", selector: {app: web}") + slice("true")},
		"no Pod": {
			facts: service(", selector: {app: web}"),
			want:  []string{"SelectorMatchesNothing: service/web -n prod has no endpoints: its selector matches no Pod"},
			next:  "kubectl get pods --show-labels -n prod",
		},
		"no Pod is ready": {
			facts: strings.ReplaceAll(service(", selector: {app: web}"), "http", "8080") + slice("false") + "\n---\n" +
				pod(`restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1}}`),
			want: []string{
				"ContainerCrash: pod/web-1 -n prod: container app exits with code 1 each time it starts",
				"NoReadyEndpoints: service/web -n prod has no ready endpoint: none of its Pods is ready",
			},
		},
		"no such port": {
			facts: service(", selector: {app: web}") + ready,
			want:  []string{"TargetPortMissing: service/web -n prod has no endpoints for port 80: none of its Pods has a container port named http"},
		},
		"Pods may not be listed (edge case 67)": {
			facts:  service(", selector: {app: web}"),
			unread: []string{"Pod/prod/"},
			want:   []string{"NotAllowed: you are not allowed to read these, so their state is unknown: pods in prod"},
		},
		"no selector": {
			facts: service(""),
			want:  []string{"NoEndpoints: service/web -n prod has neither a selector nor endpoints"},
		},
		"no load balancer": {
			facts:    service(", type: LoadBalancer, loadBalancerClass: example.com/lb") + slice("true"),
			want:     []string{"LoadBalancerPending: service/web -n prod has no address yet: no controller has set up its load balancer"},
			evidence: []string{"loadBalancerClass is example.com/lb: only the controller for that class handles this Service"},
		},
		"load balancer failed": {
			facts: service(", type: LoadBalancer") + slice("true") + "\n---\n" + `{apiVersion: v1, kind: Event, metadata: {name: e, namespace: prod}, type: Warning, reason: SyncLoadBalancerFailed, message: no address left, involvedObject: {uid: svc}}`,
			want:  []string{"LoadBalancerFailed: service/web -n prod has no address: its load balancer cannot be created (SyncLoadBalancerFailed)"},
		},
		"ingress": {
			facts:  `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: prod}, spec: {ingressClassName: nginx, defaultBackend: {service: {name: web}}, tls: [{secretName: cert}]}}`,
			absent: []string{"Service/prod/web", "Secret/prod/cert"},
			want: []string{
				"ServiceMissing: ingress.networking.k8s.io/web -n prod needs Service web, which does not exist",
				"SecretMissing: ingress.networking.k8s.io/web -n prod needs Secret cert, which does not exist",
				"IngressNoAddress: ingress.networking.k8s.io/web -n prod has no address yet: no controller has set one",
			},
		},
		"ingress with a missing class": {
			facts:   `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: prod}, spec: {ingressClassName: nginx}}`,
			absent:  []string{"IngressClass.networking.k8s.io/nginx"},
			want:    []string{"IngressClassMissing: ingress.networking.k8s.io/web -n prod has no address: IngressClass nginx does not exist"},
			blocked: "ingressclass.networking.k8s.io/nginx",
		},
		"ingress without a class": {
			facts: `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: prod}, spec: {}}`,
			want:  []string{"NoIngressClass: ingress.networking.k8s.io/web -n prod has no address: it has no IngressClass, and there is no default"},
		},
	})
}
