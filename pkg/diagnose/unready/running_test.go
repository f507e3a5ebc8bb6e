package unready_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// runningPod returns a Pod that runs an image.
func runningPod(name, node, image, id, more string) string {
	return fmt.Sprintf(`
---
{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: prod, uid: %s, labels: {app: web}%s}, spec: {nodeName: %s, containers: [{name: app, image: %q, imagePullPolicy: IfNotPresent}]},
  status: {containerStatuses: [{name: app, image: x, ready: true, imageID: %q, state: {running: {startedAt: "2026-01-01T11:00:00Z"}}}]}}`, name, name, more, node, image, id)
}

const (
	oneDigest   = "registry.example/web@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	otherDigest = "registry.example/web@sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

// The test uses the images that nodes report. If Pods run different images, there is a remark even
// if all Pods are ready.
func TestRunning(t *testing.T) {
	const workload = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod}, spec: {selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "web:dev"}]}}}}`
	for name, c := range map[string]struct {
		pods    string
		want    []string
		differs bool
	}{
		"one image":                          {runningPod("a", "n1", "web:dev", oneDigest, "") + runningPod("b", "n2", "web:dev", oneDigest, ""), []string{"app sha256:1111 a b"}, false},
		"different images under one name":    {runningPod("a", "n1", "web:dev", otherDigest, "") + runningPod("b", "n2", "web:dev", oneDigest, "") + runningPod("c", "n2", "web:dev", oneDigest, ""), []string{"app sha256:1111 b c", "app sha256:2222 a"}, true},
		"Pod of an older template":           {runningPod("a", "n1", "web:old", otherDigest, "") + runningPod("b", "n2", "web:dev", oneDigest, ""), []string{"app sha256:1111 b"}, false},
		"terminating":                        {runningPod("a", "n1", "web:dev", otherDigest, `, deletionTimestamp: "2026-01-01T11:00:00Z"`) + runningPod("b", "n2", "web:dev", oneDigest, ""), []string{"app sha256:1111 b"}, false},
		"without a digest":                   {runningPod("a", "n1", "web:dev", "sha256:3333", "") + runningPod("b", "n2", "web:dev", "sha256:4444", ""), []string{"app sha256:3333 a", "app sha256:4444 b"}, false},
		"the node does not report the image": {runningPod("a", "n1", "web:dev", "", ""), nil, false},
		"no Pods":                            {"", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &diagnosetest.Memory{Objects: diagnosetest.Read(t, workload+c.pods)}
			ref := object.RefOf(m.Objects[0])
			var got []string
			differs := false
			for _, runs := range unready.Running(t.Context(), m, []object.Ref{ref}) {
				for _, i := range runs.Images {
					id := i.ID[strings.LastIndex(i.ID, "@")+1:]
					line := i.Container + " " + id[:min(len(id), len("sha256:1111"))]
					for _, p := range i.Pods {
						line += " " + p.Name
					}
					got = append(got, line)
				}
				_, differs = unready.DifferingImages(runs)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || differs != c.differs {
				t.Errorf("images differ: %v (-want +got):\n%s", differs, diff)
			}
			if asked := m.Asked(); len(asked) != 2 {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// Only a few workloads are read. Workloads that cannot be read are omitted.
func TestRunningSendsFewRequests(t *testing.T) {
	m := &diagnosetest.Memory{}
	refs := slices.Repeat([]object.Ref{{GVK: named("Deployment.apps/prod/web").GVK, Namespace: "prod", Name: "web"}}, 300)
	for i := range refs {
		refs[i].Name += fmt.Sprint(i)
	}
	if runs := unready.Running(t.Context(), m, refs); runs != nil {
		t.Errorf("got images of deleted workloads: %v", runs)
	}
	if asked := m.Asked(); len(asked) > unready.MostRunning {
		t.Errorf("%d requests", len(asked))
	}
	m = &diagnosetest.Memory{Answers: diagnosetest.Answers{Failing: map[string]error{"Deployment": diagnosetest.Forbidden("Deployment")}}}
	if runs := unready.Running(t.Context(), m, refs[:1]); runs != nil {
		t.Errorf("got images of forbidden Pods: %v", runs)
	}
}

// A Service or an Ingress that is ready but has no backend gets a remark. An object that cannot be
// read gets none.
func TestObjectsWithoutBackend(t *testing.T) {
	const pod = `
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: prod, uid: a, labels: {app: web}}, status: {phase: Running}}`
	const service = `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: prod}, spec: {selector: {app: web}, ports: [{port: 80}]}}`
	const ingress = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: prod}, spec: {
  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}`
	const bare = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: prod}, spec: {}, status: {}}`
	classed := func(name string) string {
		return strings.Replace(bare, "spec: {}", "spec: {ingressClassName: "+name+"}", 1)
	}
	class := func(name, annotation string) string {
		return "\n---\n{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: " + name + ", annotations: {" + annotation + "}}, spec: {controller: example.com/x}}"
	}
	for name, c := range map[string]struct {
		objects   string
		forbidden string
		want      []string
	}{
		"with a Pod":                     {service + pod, "", nil},
		"without a Pod":                  {service, "", []string{"SelectorMatchesNothing has no endpoints: its selector matches no Pod"}},
		"Pods may not be listed":         {service, "Pod", nil},
		"no selector":                    {`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: prod}, spec: {ports: [{port: 80}]}}`, "", nil},
		"ExternalName Service":           {`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: prod}, spec: {type: ExternalName, externalName: example.com, selector: {app: web}}}`, "", nil},
		"an Ingress and its Service":     {ingress + "\n---\n" + service, "", nil},
		"an Ingress without its Service": {ingress, "", []string{"ServiceMissing needs Service web, which does not exist"}},
		"Services may not be read":       {ingress, "Service", nil},

		"a class that does not exist":                 {classed("nginxx") + class("nginx", ""), "", []string{"IngressClassMissing has no address: IngressClass nginxx does not exist"}},
		"a class that exists":                         {classed("nginx") + class("nginx", ""), "", nil},
		"classes may not be read":                     {classed("nginxx"), "IngressClass", nil},
		"a class of GKE":                              {classed("gce"), "", nil},
		"an internal class of GKE":                    {classed("gce-internal"), "", nil},
		"a class that does not exist, and an address": {strings.Replace(classed("nginxx"), "status: {}", "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}", 1), "", nil},
		"no class and no default":                     {bare + class("nginx", ""), "", []string{"NoIngressClass has no address: it has no IngressClass, and there is no default"}},
		"no class and a default":                      {bare + class("nginx", `ingressclass.kubernetes.io/is-default-class: "true"`), "", nil},
		"no class, and classes may not be read":       {bare, "IngressClass", nil},
		"the annotation of old":                       {strings.Replace(bare, "namespace: prod}", `namespace: prod, annotations: {kubernetes.io/ingress.class: nginx}}`, 1), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := &diagnosetest.Memory{Objects: diagnosetest.Read(t, c.objects)}
			if c.forbidden != "" {
				m.Failing = map[string]error{c.forbidden: diagnosetest.Forbidden(c.forbidden)}
			}
			ref := object.RefOf(m.Objects[0])
			if !unready.IsEntrance(ref) {
				t.Fatal(ref)
			}
			var got []string
			for _, r := range unready.Unanswered(t.Context(), m, []object.Ref{ref}) {
				got = append(got, r.Code+" "+r.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
