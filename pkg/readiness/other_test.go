package readiness

import "testing"

func TestReadyJob(t *testing.T) {
	job := func(spec, status string) string {
		return `{apiVersion: batch/v1, kind: Job, metadata: {name: j, generation: 1}, spec: {` + spec + `}, status: {` + status + `}}`
	}
	testReady(t, map[string]readyCase{
		"running": {
			object: job("completions: 3", `startTime: "2026-01-01T11:00:00Z", succeeded: 1, active: 2`),
			want:   "not ready, InProgress: it is still running: Pods: 1 succeeded, 0 failed, 2 running",
			rests:  []string{"self.status.succeeded: 1", "self.status.failed is absent", "self.status.active: 2"},
		},
		"complete": {
			object: job("", `succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]`),
			want:   "ready, Ready: it is complete: Pods: 1 succeeded, 0 failed, 0 running",
		},
		"succeeded, and its Pods are being stopped": {
			object: job("", `succeeded: 1, active: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}]`),
			want:   "not ready, InProgress: it has succeeded, and its last Pods are being stopped: Pods: 1 succeeded, 0 failed, 1 running",
		},
		"edge case 46: failed": {
			object: job("", `failed: 7, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]`),
			want:   "failed, JobFailed: it has failed (BackoffLimitExceeded); Pods: 0 succeeded, 7 failed, 0 running",
		},
		"certain to fail": {
			object: job("", `failed: 1, active: 1, conditions: [{type: FailureTarget, status: "True", reason: PodFailurePolicy}]`),
			want:   "failed, JobFailed: it has failed (PodFailurePolicy); Pods: 0 succeeded, 1 failed, 1 running",
		},
		"suspended": {
			object: job("suspend: true", `conditions: [{type: Suspended, status: "True"}]`),
			want:   "not ready, Suspended: it is suspended: it runs no Pods",
		},
	})
}

func TestReadyOther(t *testing.T) {
	v1 := func(kind, rest string) string {
		return `{apiVersion: v1, kind: ` + kind + `, metadata: {name: o}` + rest + `}`
	}
	definition := func(conditions string) string {
		return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d}, status: {conditions: [` + conditions + `]}}`
	}
	autoscaler := func(conditions string) string {
		return `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, status: {conditions: [` + conditions + `]}}`
	}
	const exists = "ready, Ready: it exists"
	testReady(t, map[string]readyCase{
		"ConfigMap":                  {object: v1("ConfigMap", ", data: {status: x}"), want: exists, rests: []string{}},
		"Secret":                     {object: v1("Secret", ", data: {a: eA==}"), want: exists, rests: []string{}},
		"ResourceQuota":              {object: v1("ResourceQuota", ""), want: exists},
		"Role":                       {object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}}`, want: exists},
		"Ingress without an address": {object: `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, status: {loadBalancer: {}}}`, want: exists},
		"CronJob, suspended":         {object: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {suspend: true}}`, want: exists},
		"Namespace":                  {object: v1("Namespace", ", status: {phase: Active}"), want: "ready, Ready: it is active"},
		"Namespace, terminating":     {object: v1("Namespace", ", status: {phase: Terminating}"), want: "not ready, InProgress: it is not active"},
		"Node":                       {object: v1("Node", `, status: {conditions: [{type: Ready, status: "True"}]}`), want: "ready, Ready: its condition Ready is True"},
		"lost Node":                  {object: v1("Node", `, status: {conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown}]}`), want: "not ready, InProgress: its condition Ready is Unknown (NodeStatusUnknown)"},
		"Service":                    {object: v1("Service", ""), want: exists},
		"load balancer":              {object: v1("Service", ", spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}"), want: "ready, Ready: its load balancer has an address"},
		"load balancer without an address": {
			object: v1("Service", ", spec: {type: LoadBalancer, clusterIP: 192.0.2.1}, status: {loadBalancer: {}}"),
			want:   "not ready, InProgress: its load balancer has no address yet",
			rests:  []string{"self.spec.type: LoadBalancer", "self.status.loadBalancer.ingress is absent"},
		},
		"load balancer with external addresses": {object: v1("Service", ", spec: {type: LoadBalancer, externalIPs: [192.0.2.1]}"), want: "ready, Ready: it has external addresses"},
		"claim, pending":                        {object: v1("PersistentVolumeClaim", ", status: {phase: Pending}"), want: "not ready, InProgress: it has no volume yet; if its storage class waits for the first consumer, it gets one when a Pod uses it"},
		"claim, lost":                           {object: v1("PersistentVolumeClaim", ", spec: {volumeName: v}, status: {phase: Lost}"), want: "failed, ClaimLost: the volume that it was bound to no longer exists, or belongs to another claim"},
		"volume":                                {object: v1("PersistentVolume", ", status: {phase: Available}"), want: "ready, Ready: its phase is Available"},
		"volume, failed":                        {object: v1("PersistentVolume", ", status: {phase: Failed, message: no plugin}"), want: "failed, VolumeFailed: it could not be reclaimed: no plugin"},
		"volume, pending":                       {object: v1("PersistentVolume", ", status: {phase: Pending}"), want: "not ready, InProgress: it is not available yet"},
		"APIService": {
			object: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints, message: none}]}}`,
			want:   "not ready, InProgress: its condition Available is False (MissingEndpoints): none",
		},
		"disruption budget without a count":       {object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: p, generation: 1}, status: {disruptionsAllowed: 0}}`, want: "not ready, NoStatus: no controller has handled it yet"},
		"disruption budget that allows none":      {object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: p, generation: 1}, status: {observedGeneration: 1, disruptionsAllowed: 0, conditions: [{type: DisruptionAllowed, status: "False", reason: InsufficientPods}]}}`, want: "ready, Ready: disruptions allowed: 0"},
		"disruption budget that fails":            {object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: p, generation: 1}, status: {observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: "False", reason: SyncFailed}]}}`, want: "not ready, InProgress: its Pods cannot be counted (SyncFailed)"},
		"autoscaler":                              {object: autoscaler(`{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "True"}`), want: "ready, Ready: it scales"},
		"autoscaler without metrics":              {object: autoscaler(`{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "False", reason: FailedGetResourceMetric}`), want: "not ready, InProgress: it does not scale (FailedGetResourceMetric)"},
		"autoscaler of a target without replicas": {object: autoscaler(`{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "False", reason: ScalingDisabled}`), want: "ready, Ready: its target is scaled to zero"},
		"autoscaler without a target":             {object: autoscaler(`{type: AbleToScale, status: "False", reason: FailedGetScale}`), want: "not ready, InProgress: it cannot scale (FailedGetScale)"},
		"autoscaler not handled yet":              {object: autoscaler(""), want: "not ready, NoStatus: no controller has handled it yet"},
		"definition with a name already in use":   {object: definition(`{type: NamesAccepted, status: "False", reason: ListKindConflict}, {type: Established, status: "False", reason: NotAccepted}`), want: "failed, NamesNotAccepted: its names are not accepted (ListKindConflict)"},
		"definition being installed":              {object: definition(`{type: NamesAccepted, status: "True"}, {type: Established, status: "False", reason: Installing}`), want: "not ready, InProgress: it is not established yet (Installing)"},
	})
}
