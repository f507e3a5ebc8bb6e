package readiness

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestReadyCustom(t *testing.T) {
	widget := func(rest string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 1}` + rest + "}"
	}
	conditions := func(list string) string { return widget(", status: {conditions: [" + list + "]}") }
	const (
		silent = "not ready, NoStatus: it has no status: no controller has reported on it yet"
		vague  = "not ready, NoCondition: nothing in its status says whether it is ready; wait for your own expression instead"
	)
	testReady(t, map[string]readyCase{
		"edge case 48: no status": {
			object: widget(""), want: silent, rests: []string{"self.status is absent"},
		},
		"edge case 48: an empty status": {object: widget(", status: {}"), want: silent},
		"edge case 48: no conditions": {
			object: widget(", status: {replicas: 3}"), want: vague,
			rests: []string{"self.status.conditions is absent", "self.status.phase is absent"},
		},
		"edge case 48: unknown conditions":      {object: conditions(`{type: Odd, status: "True"}`), want: "not ready, NoCondition: its status does not clearly say that it is ready: Odd is True; wait for your own expression instead"},
		"the kind has no status":                {object: widget(""), noStatus: true, want: "ready, Ready: it exists"},
		"no schema, no status":                  {object: widget(""), want: silent},
		"no schema, a status without readiness": {object: widget(", status: {replicas: 3}"), want: vague},
		"Ready": {
			object: conditions(`{type: Ready, status: "True"}, {type: Available, status: "True"}`),
			want:   "ready, Ready: its condition Ready is True",
			rests:  []string{`self.status.conditions[type="Ready"].status: True`, `self.status.conditions[type="Available"].status: True`},
		},
		"edge case 95: Ready, and not Available": {
			object: conditions(`{type: Ready, status: "True"}, {type: Available, status: "False", reason: NoPods}`),
			want:   "not ready, InProgress: its condition Ready is True, but Available is False (NoPods)",
			rests:  []string{`self.status.conditions[type="Available"].status: False`, `self.status.conditions[type="Ready"].status: True`},
		},
		"edge case 95: Ready but not Synced": {
			object: conditions(`{type: Ready, status: "True"}, {type: Synced, status: "False", reason: ReconcileError, message: "no quota"}`),
			want:   "not ready, Unhealthy: its condition Ready is True, but Synced is False (ReconcileError): no quota",
		},
		"not ready, with the reason in another condition": {
			object: conditions(`{type: Ready, status: "False", reason: Creating}, {type: Synced, status: "False", reason: ReconcileError, message: "no quota"}`),
			want:   "not ready, Unhealthy: its condition Synced is False (ReconcileError): no quota; Ready is False (Creating)",
		},
		"an old error": {
			object: conditions(`{type: Ready, status: "False", reason: FetchFailed, lastTransitionTime: "2026-01-01T11:50:00Z"}`),
			want:   "failed, Unhealthy: its condition Ready is False (FetchFailed)",
		},
		"a recent error": {
			object: conditions(`{type: Ready, status: "False", reason: FetchFailed, lastTransitionTime: "2026-01-01T11:59:00Z"}`),
			want:   "not ready, Unhealthy: its condition Ready is False (FetchFailed) [again in 1m0s]",
		},
		"an old error from before a change to the spec": {
			object: `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 1, managedFields: [{time: "2026-01-01T11:59:30Z", fieldsV1: {"f:spec": {}}}]}, status: {conditions: [{type: Ready, status: "False", reason: FetchFailed, lastTransitionTime: "2026-01-01T11:00:00Z"}]}}`,
			want:   "not ready, Unhealthy: its condition Ready is False (FetchFailed) [again in 1m30s]",
		},
		"a field that is an error": {
			object: widget(`, status: {phase: Ready, errorMessage: "the disk is full"}`),
			want:   "not ready, Unhealthy: its phase is Ready, but errorMessage is the disk is full",
		},
		"stopped by its spec": {
			object: `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {suspend: true}, status: {conditions: [{type: Ready, status: "True"}]}}`,
			want:   "not ready, Paused: it is paused: spec.suspend is true",
		},
		"stopped by an annotation": {
			object: `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, annotations: {example.com/reconcile-paused: "true"}}, status: {conditions: [{type: Ready, status: "True"}]}}`,
			want:   "not ready, Paused: it is paused: the annotation example.com/reconcile-paused is true",
		},
		"unclear status is quoted, most important first": {
			object: widget(`, status: {phase: Odd, message: "as you see", conditions: [{type: Created, status: "True"}, {type: Gizmo, status: "False", reason: Cold, message: "not warm"}]}`),
			want:   "not ready, NoCondition: its status does not clearly say that it is ready: phase is Odd: as you see; Created is True; Gizmo is False (Cold): not warm; wait for your own expression instead",
		},
		"Ready is not known": {
			object: conditions(`{type: Ready, status: Unknown, reason: Deploying}`),
			want:   "not ready, InProgress: its condition Ready is Unknown (Deploying)",
		},
		"Available":               {object: conditions(`{type: Available, status: "True"}, {type: Progressing, status: "True"}`), want: "ready, Ready: its condition Available is True"},
		"Available, not accepted": {object: conditions(`{type: Available, status: "True"}, {type: Accepted, status: "False"}`), want: "not ready, InProgress: its condition Available is True, but Accepted is False"},
		"Succeeded":               {object: conditions(`{type: Succeeded, status: "True"}`), want: "ready, Ready: its condition Succeeded is True"},
		"not Succeeded":           {object: conditions(`{type: Succeeded, status: "False"}`), want: "not ready, InProgress: its condition Succeeded is False"},
		"Failed":                  {object: conditions(`{type: Ready, status: "False"}, {type: Failed, status: "True", reason: Boom}`), want: "failed, Failed: its condition Failed is True (Boom)"},
		"Failed in an older generation": {
			object: `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}, status: {conditions: [{type: Ready, status: "False"}, {type: Failed, status: "True", observedGeneration: 1}]}}`,
			want:   "not ready, InProgress: its condition Ready is False",
		},
		"the field ready":   {object: widget(", status: {ready: true}"), want: "ready, Ready: it says that it is ready"},
		"not ready":         {object: widget(", status: {ready: false, phase: Ready}"), want: "not ready, InProgress: its phase is Ready, but ready is false"},
		"ready is a count":  {object: widget(`, status: {ready: "1/1"}`), want: "ready, Ready: its ready is 1/1"},
		"the phase":         {object: widget(", status: {phase: Healthy}"), want: "ready, Ready: its phase is Healthy"},
		"another phase":     {object: widget(", status: {phase: Running}"), want: "ready, Ready: its phase is Running"},
		"Tekton: it runs":   {object: `{apiVersion: tekton.dev/v1, kind: TaskRun, status: {conditions: [{type: Succeeded, status: Unknown, reason: Running}]}}`, want: "not ready, InProgress: its condition Succeeded is Unknown (Running)"},
		"Tekton: it failed": {object: `{apiVersion: tekton.dev/v1, kind: TaskRun, status: {conditions: [{type: Succeeded, status: "False", reason: Failed}]}}`, want: "failed, Failed: it has failed (Failed)"},
		"Knative":           {object: `{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: s}, status: {conditions: [{type: ConfigurationsReady, status: "True"}, {type: Ready, status: "False", reason: RevisionMissing}]}}`, want: "not ready, Unhealthy: its condition Ready is False (RevisionMissing)"},
	})
}

func TestReadyGateway(t *testing.T) {
	route := func(status string) string {
		return `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, generation: 2}` + status + `}`
	}
	const accepted = `{parentRef: {name: outer}, conditions: [{type: Accepted, status: "True", observedGeneration: 2}, {type: ResolvedRefs, status: "True", observedGeneration: 2}]}`
	testReady(t, map[string]readyCase{
		"a Gateway that is only accepted": {
			object: `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g}, status: {conditions: [{type: Accepted, status: "True"}, {type: Programmed, status: "False", reason: AddressNotAssigned}]}}`,
			want:   "not ready, InProgress: its condition Programmed is False (AddressNotAssigned)",
		},
		"a Gateway with the default status of its CRD": {
			object: `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g}, status: {conditions: [{type: Accepted, status: Unknown, reason: Pending}, {type: Programmed, status: Unknown, reason: Pending}]}}`,
			want:   "not ready, InProgress: its condition Accepted is Unknown (Pending)",
		},
		"a route without a status": {object: route(""), want: "not ready, NoStatus: no gateway has answered yet"},
		"a route":                  {object: route(", status: {parents: [" + accepted + "]}"), want: "ready, Ready: each of its gateways accepts it"},
		"a route that one of two gateways rejects": {
			object: route(", status: {parents: [" + accepted + `, {parentRef: {name: inner}, conditions: [{type: Accepted, status: "False", reason: NotAllowedByListeners}]}]}`),
			want:   "not ready, InProgress: gateway inner: its condition Accepted is False (NotAllowedByListeners)",
			rests:  []string{`self.status.parents[parentRef.name="inner"].conditions[type="Accepted"].status: False`},
		},
		"edge case 47: a route accepted in an older generation": {
			object: route(`, status: {parents: [{parentRef: {name: outer}, conditions: [{type: Accepted, status: "True", observedGeneration: 1}]}]}`),
			want:   "not ready, StaleStatus: gateway outer: its condition Accepted is for generation 1, but the object is at generation 2",
		},
	})
}

func TestNamesOfPauses(t *testing.T) {
	for name, want := range map[string]bool{
		"paused": true, "reconcile-paused": true, "pause": true, "pauseReconciliation": true, "suspend": true,
		"notPaused": false, "pauseAfterFailure": false, "suspendJobs": false, "": false,
	} {
		if got := isStopName(name); got != want {
			t.Errorf("isStopName(%q) = %t, want %t", name, got, want)
		}
	}
}

// Only the fields state, phase and health of a part of the status are read. A count of zero is
// good only if zero are wanted and the status is up to date.
func TestReadyByPartsAndCounts(t *testing.T) {
	widget := func(spec, status string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}, spec: {` + spec + `}, status: {` + status + `}}`
	}
	const ready = `observedGeneration: 2, conditions: [{type: Ready, status: "True"}]`
	for name, test := range map[string]struct {
		object string
		ready  bool
	}{
		"part with a failed phase":      {widget("", ready+", nodes: {a: {phase: Failed}}"), false},
		"part with a failed state":      {widget("", ready+", nodes: {a: {state: Failed}}"), false},
		"part with a text":              {widget("", ready+", nodes: {a: {text: Failed}}"), true},
		"zero wanted":                   {widget("replicas: 0", "observedGeneration: 2, replicas: 0, readyReplicas: 0"), true},
		"zero wanted, not observed yet": {widget("replicas: 0", "replicas: 0, readyReplicas: 0"), false},
		"one wanted":                    {widget("replicas: 1", "observedGeneration: 2, replicas: 0, readyReplicas: 0"), false},
		"zero wanted, one left":         {widget("replicas: 0", "observedGeneration: 2, replicas: 1, readyReplicas: 0"), false},
	} {
		u := parse(t, test.object)
		if v := For(u.GroupVersionKind()).Evaluate(u.Object, noon()); v.Ready != test.ready {
			t.Errorf("%s: got %s, want ready %t", name, inWords(v), test.ready)
		}
	}
}

// If NeedsSchema is false for a kind, the kind is evaluated without a schema. A group that ends in
// k8s.io may contain custom resources too, which need the schema.
func TestNeedsSchema(t *testing.T) {
	for gk, want := range map[schema.GroupKind]bool{
		{Kind: "ConfigMap"}:                                             false,
		{Group: "apps", Kind: "Deployment"}:                             false,
		{Group: "networking.k8s.io", Kind: "Ingress"}:                   false,
		{Group: "gateway.networking.k8s.io", Kind: "Gateway"}:           false,
		{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotClass"}: true,
		{Group: "example.com", Kind: "Widget"}:                          true,
	} {
		if got := NeedsSchema(gk.WithVersion("v1")); got != want {
			t.Errorf("%s: %v", gk, got)
		}
	}
}
