package readiness

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func TestReadyCustom(t *testing.T) {
	widget := func(rest string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 1}` + rest + "}"
	}
	conditions := func(list string) string { return widget(", status: {conditions: [" + list + "]}") }
	const (
		silent = "not ready, NoStatus: it has no status: no controller has told of it yet"
		vague  = "not ready, NoCondition: nothing in its status says whether it is ready; wait for an expression of your own instead"
	)
	withStatus, without := schemaWith("spec", "status"), schemaWith("apiVersion", "kind", "metadata", "spec")
	anything := schemaWith("spec")
	anything.Extensions = spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}
	testReady(t, map[string]readyCase{
		"edge case 48: no status": {
			object: widget(""), schema: withStatus, want: silent, rests: []string{"self.status is absent"},
		},
		"edge case 48: an empty status": {object: widget(", status: {}"), schema: withStatus, want: silent},
		"edge case 48: no conditions": {
			object: widget(", status: {replicas: 3}"), schema: withStatus, want: vague,
			rests: []string{"self.status.conditions is absent", "self.status.phase is absent"},
		},
		"edge case 48: conditions that mean nothing to us": {object: conditions(`{type: Odd, status: "True"}`), schema: withStatus, want: vague},
		"the kind has no status":                           {object: widget(""), schema: without, want: "ready, Ready: it exists"},
		"the schema lets everything pass":                  {object: widget(""), schema: anything, want: silent},
		"the schema says nothing":                          {object: widget(""), schema: &spec.Schema{}, want: silent},
		"no schema, no status":                             {object: widget(""), want: silent},
		"no schema, a status that says nothing":            {object: widget(", status: {replicas: 3}"), want: vague},
		"Ready": {
			object: conditions(`{type: Ready, status: "True"}, {type: Available, status: "False"}`),
			want:   "ready, Ready: its condition Ready is True",
			rests:  []string{`self.status.conditions[type="Ready"].status: True`},
		},
		"Ready is not known": {
			object: conditions(`{type: Ready, status: Unknown, reason: Deploying}`),
			want:   "not ready, InProgress: its condition Ready is Unknown (Deploying)",
		},
		"Available":               {object: conditions(`{type: Available, status: "True"}, {type: Progressing, status: "True"}`), want: "ready, Ready: its condition Available is True"},
		"Available, not accepted": {object: conditions(`{type: Available, status: "True"}, {type: Accepted, status: "False"}`), want: "not ready, InProgress: its condition Accepted is False"},
		"Succeeded":               {object: conditions(`{type: Succeeded, status: "True"}`), want: "ready, Ready: its condition Succeeded is True"},
		"not Succeeded":           {object: conditions(`{type: Succeeded, status: "False"}`), want: "not ready, InProgress: its condition Succeeded is False"},
		"Failed":                  {object: conditions(`{type: Ready, status: "False"}, {type: Failed, status: "True", reason: Boom}`), want: "failed, Failed: it has failed (Boom)"},
		"Failed, a generation ago": {
			object: `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}, status: {conditions: [{type: Ready, status: "False"}, {type: Failed, status: "True", observedGeneration: 1}]}}`,
			want:   "not ready, InProgress: its condition Ready is False",
		},
		"the field ready":   {object: widget(", status: {ready: true}"), want: "ready, Ready: it says that it is ready"},
		"not ready":         {object: widget(", status: {ready: false, phase: Ready}"), want: "not ready, InProgress: it says that it is not ready"},
		"ready is no truth": {object: widget(`, status: {ready: "1/1"}`), want: vague},
		"the phase":         {object: widget(", status: {phase: Healthy}"), want: "ready, Ready: its phase is Healthy"},
		"another phase":     {object: widget(", status: {phase: Running}"), want: vague},
		"Tekton: it runs":   {object: `{apiVersion: tekton.dev/v1, kind: TaskRun, status: {conditions: [{type: Succeeded, status: Unknown, reason: Running}]}}`, want: "not ready, InProgress: its condition Succeeded is Unknown (Running)"},
		"Tekton: it failed": {object: `{apiVersion: tekton.dev/v1, kind: TaskRun, status: {conditions: [{type: Succeeded, status: "False", reason: Failed}]}}`, want: "failed, Failed: it has failed (Failed)"},
		"Knative":           {object: `{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: s}, status: {conditions: [{type: ConfigurationsReady, status: "True"}, {type: Ready, status: "False", reason: RevisionMissing}]}}`, want: "not ready, InProgress: its condition Ready is False (RevisionMissing)"},
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
		"a Gateway whose status is the default of its definition": {
			object: `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g}, status: {conditions: [{type: Accepted, status: Unknown, reason: Pending}, {type: Programmed, status: Unknown, reason: Pending}]}}`,
			want:   "not ready, InProgress: its condition Accepted is Unknown (Pending)",
		},
		"a route that nobody has looked at": {object: route(""), want: "not ready, NoStatus: no gateway has answered yet"},
		"a route":                           {object: route(", status: {parents: [" + accepted + "]}"), want: "ready, Ready: each of its gateways accepts it"},
		"a route that one of two does not take": {
			object: route(", status: {parents: [" + accepted + `, {parentRef: {name: inner}, conditions: [{type: Accepted, status: "False", reason: NotAllowedByListeners}]}]}`),
			want:   "not ready, InProgress: gateway inner: its condition Accepted is False (NotAllowedByListeners)",
			rests:  []string{`self.status.parents[parentRef.name="inner"].conditions[type="Accepted"].status: False`},
		},
		"edge case 47: a route that was accepted a generation ago": {
			object: route(`, status: {parents: [{parentRef: {name: outer}, conditions: [{type: Accepted, status: "True", observedGeneration: 1}]}]}`),
			want:   "not ready, StaleStatus: gateway outer: its condition Accepted is of generation 1, and the object is at generation 2",
		},
	})
}

// Whose schema is not asked for, is judged without: groups that end in k8s.io may
// be of custom resources too.
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
