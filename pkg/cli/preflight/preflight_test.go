package preflight

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// Findings consider the whole object, and not only its manifest. Fields that other managers have
// set count even if the object does not change: here a port, and a label of the Pods.
func TestRunSeesFieldsOfOtherManagers(t *testing.T) {
	const manifest = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod}, spec: {selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: a}]}}}}`
	const live = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod}, spec: {selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web, tier: front}}, spec: {containers: [{name: app, image: a, ports: [{name: grpc, containerPort: 1}]}]}}}}`
	const service = `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: prod}, spec: {selector: {app: web, tier: front}, ports: [{port: 80, targetPort: PORT}]}}`
	for port, want := range map[string]int{"grpc": 0, "http": 1} {
		objects := diagnosetest.Read(t, manifest+"\n---\n"+service)
		p, reported := &plan.Plan{Phases: []plan.Phase{{}}}, []event.Event{}
		for _, u := range objects {
			p.Phases[0].Items = append(p.Phases[0].Items, plan.Item{Ref: object.RefOf(u), Object: u})
		}
		if err := unstructured.SetNestedSlice(objects[1].Object, []any{map[string]any{"port": int64(80), "targetPort": port}}, "spec", "ports"); err != nil {
			t.Fatal(err)
		}
		f := New(func(e event.Event) { reported = append(reported, e) }, false, p)
		there := diagnosetest.Read(t, live)[0]
		f.See(p.Phases[0].Items[0], there, there, false)
		f.See(p.Phases[0].Items[1], nil, objects[1], true)
		f.Report(t.Context(), p, &diagnosetest.Memory{})
		if len(reported) != want {
			t.Errorf("targetPort %s: got %v, want %d remarks", port, reported, want)
		}
	}
}

// If no object of a set can cause a finding, nothing is collected. Otherwise, an object that equals
// its manifest is not stored a second time.
func TestRunKeepsObjectsOnlyIfNeeded(t *testing.T) {
	const data = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: prod}, data: {a: b}}`
	const answer = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: prod, uid: u, resourceVersion: "1", managedFields: [{manager: m}]}, data: {a: b}}`
	const workload = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod}, spec: {template: {spec: {containers: [{name: app, image: a}]}}}}`
	for _, test := range []struct {
		set  string
		want int
	}{{data, 0}, {data + "\n---\n" + workload, 1}} {
		p := &plan.Plan{Phases: []plan.Phase{{}}}
		for _, u := range diagnosetest.Read(t, test.set) {
			p.Phases[0].Items = append(p.Phases[0].Items, plan.Item{Ref: object.RefOf(u), Object: u})
		}
		f := New(func(event.Event) {}, false, p)
		item := p.Phases[0].Items[0]
		f.See(item, nil, diagnosetest.Read(t, answer)[0], true)
		if len(f.seen) != test.want {
			t.Errorf("of %d objects, %d are gathered, want %d", len(p.Phases[0].Items), len(f.seen), test.want)
		}
		for _, seen := range f.seen {
			if seen.After != item.Object {
				t.Errorf("an object that equals its manifest is stored twice: %v", seen.After)
			}
		}
	}
}
