package unready_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// web returns a Deployment with n Pods, each with the given spec and status.
func web(t *testing.T, n int, spec, status string) (*unstructured.Unstructured, []*unstructured.Unstructured) {
	t.Helper()
	docs := []string{
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod, uid: d-1, annotations: {deployment.kubernetes.io/revision: "2"}}, spec: {replicas: 3, selector: {matchLabels: {app: web}}}}`,
		`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-2, namespace: prod, uid: rs-2, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "2"}, ownerReferences: [{kind: Deployment, name: web, uid: d-1, controller: true}]}, spec: {replicas: 3, selector: {matchLabels: {app: web}}}, status: {replicas: 3}}`,
		`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: prod, uid: rs-1, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "1"}, ownerReferences: [{kind: Deployment, name: web, uid: d-1, controller: true}]}, spec: {replicas: 0}, status: {replicas: 0}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: prod, uid: ns}}`,
		`{apiVersion: v1, kind: Node, metadata: {name: node-1, uid: node}, status: {conditions: [{type: Ready, status: "True"}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: foreign, namespace: prod, uid: foreign, labels: {app: web}}, spec: {}, status: {}}`,
	}
	for i := range n {
		docs = append(docs, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: web-2-%d, namespace: prod, uid: p-%d, labels: {app: web}, ownerReferences: [{kind: ReplicaSet, name: web-2, uid: rs-2, controller: true}]}, spec: %s, status: %s}`, i, i, spec, status))
	}
	objects := diagnosetest.Read(t, strings.Join(docs, "\n---\n"))
	return objects[0], objects[1:]
}

func gather(t *testing.T, m *diagnosetest.Memory, live *unstructured.Unstructured) unready.Facts {
	t.Helper()
	facts, err := unready.Gather(t.Context(), m, live)
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// A Deployment with many Pods needs one list and a few detailed reads. The causes count all Pods.
func TestGatherManyPods(t *testing.T) {
	live, objects := web(t, 500, `{nodeName: node-1, containers: [{name: app, envFrom: [{secretRef: {name: keys}}]}]}`,
		`{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError}}}]}`)
	s := &diagnosetest.Memory{Objects: objects}
	causes := unready.Diagnose(gather(t, s, live))
	want := []string{
		"exists Secret keys", "get Namespace prod", "get Node node-1",
		"list Event type!=Normal", "list Pod app=web", "list ReplicaSet app=web",
	}
	if diff := cmp.Diff(want, s.Asked()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(causes) != 1 || causes[0].Message != "200 Pods: container app needs Secret keys, which does not exist" {
		t.Fatalf("causes %+v", causes)
	}
	if text := strings.Join(causes[0].Evidence, "; "); !strings.Contains(text, "300 more unready Pods") {
		t.Errorf("evidence %s", text)
	}
}

// If a Pod is ready, nothing more is read about it.
func TestGatherReadsNoDetailsOfReadyPods(t *testing.T) {
	live, objects := web(t, 500, `{nodeName: node-1, containers: [{name: app, envFrom: [{secretRef: {name: keys}}]}]}`,
		`{phase: Running, conditions: [{type: Ready, status: "True"}]}`)
	s := &diagnosetest.Memory{Objects: objects}
	gather(t, s, live)
	want := []string{"get Namespace prod", "list Event type!=Normal", "list Pod app=web", "list ReplicaSet app=web"}
	if diff := cmp.Diff(want, s.Asked()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// The search for a controller starts only if nothing else explains the object.
func TestGatherSearchesControllerOnlyIfNeeded(t *testing.T) {
	const definition = `
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget}, versions: [{name: v1, subresources: {status: {}}}]}}`
	const nobodysWidget = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: prod, uid: w-1}}` + definition
	const itsPod = `
---
{apiVersion: v1, kind: Pod, metadata: {name: w-0, namespace: prod, uid: p, ownerReferences: [{kind: Widget, name: w, uid: w-1}]}, spec: {}, status: {conditions: [{type: PodScheduled, status: "False", message: "no nodes available to schedule pods"}]}}`
	const message = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: prod, uid: w-1}, status: {conditions: [{type: Ready, status: "False", reason: NoDisk}]}}`
	const stale = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: prod, uid: w-1, generation: 2}, status: {observedGeneration: 1}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: w, namespace: prod, uid: d, ownerReferences: [{kind: Widget, name: w, uid: w-1}]}, spec: {replicas: 0}}`
	apart := []string{"list Job", "list Pod", "list ReplicaSet"}
	workloads := []string{"list DaemonSet", "list Deployment", "list StatefulSet"}
	made := slices.Concat([]string{"get Namespace prod"}, workloads, apart)
	controllers := slices.Concat(workloads, []string{
		"get CustomResourceDefinition widgets.example.com", "list ClusterRole", "list ClusterRoleBinding", "list Lease",
		"list MutatingWebhookConfiguration", "list Role", "list RoleBinding", "list ValidatingWebhookConfiguration",
	})
	for name, tt := range map[string]struct {
		objects string
		want    []string
	}{
		"a condition explains it": {message, made},
		// Events of its Pod are read too, since they may explain more.
		"its Pod explains it": {nobodysWidget + itsPod, append(slices.Clip(made), "list Event type!=Normal")},
		// The list of all workloads includes the workloads of the object, so there is only one
		// list.
		"its controller lags behind": {stale + definition, slices.Concat(controllers, apart, []string{"get Namespace prod", "list Event type!=Normal"})},
		"nothing explains it":        {nobodysWidget, slices.Concat(made, controllers)},
	} {
		t.Run(name, func(t *testing.T) {
			m := &diagnosetest.Memory{Objects: diagnosetest.Read(t, tt.objects)}
			if causes := unready.Diagnose(gather(t, m, m.Objects[0])); len(causes) != 1 {
				t.Errorf("causes %+v", causes)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(tt.want)), m.Asked()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// A fact that may not be read, or cannot be read, is unknown and not absent (edge case 67).
func TestGatherForbidden(t *testing.T) {
	forbidden, broken := diagnosetest.Forbidden("these"), errors.New("the server is on fire")
	tests := map[string]struct {
		failing map[string]error
		want    []string
	}{
		"all":                       {map[string]error{"Namespace": forbidden, "ReplicaSet": forbidden, "Pod": forbidden, "Event": forbidden, "Node": forbidden}, []string{"NotAllowed"}},
		"Secrets":                   {map[string]error{"Secret": forbidden}, []string{"ContainerConfigError", "NotAllowed"}},
		"broken":                    {map[string]error{"Pod": broken}, []string{"Unreadable"}},
		"a kind that is not served": {map[string]error{"Event": &meta.NoKindMatchError{}}, []string{"SecretMissing"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			live, objects := web(t, 3, `{nodeName: node-1, containers: [{name: app, envFrom: [{secretRef: {name: keys}}]}]}`,
				`{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: odd}}}]}`)
			s := &diagnosetest.Memory{Objects: objects, Answers: diagnosetest.Answers{Failing: tt.failing}}
			var codes []string
			for _, c := range unready.Diagnose(gather(t, s, live)) {
				codes = append(codes, c.Code)
			}
			if diff := cmp.Diff(tt.want, codes); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// After an interruption, facts that were not read are unknown, and the error gives the reason.
func TestGatherInterrupted(t *testing.T) {
	live, objects := web(t, 3, "{}", "{}")
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	facts, err := unready.Gather(ctx, &diagnosetest.Memory{Objects: objects}, live)
	causes := unready.Diagnose(facts)
	if !errors.Is(err, over) || facts.Object != live || len(causes) != 1 || causes[0].Code != "Unreadable" {
		t.Errorf("error %v, causes %+v", err, causes)
	}
}

// The contents of a Secret are never read, only its existence.
func TestGatherNeverReadsSecrets(t *testing.T) {
	live, objects := web(t, 1, `{nodeName: node-1, imagePullSecrets: [{name: pull}], initContainers: [{name: i}], volumes: [{name: v, secret: {secretName: vol}}, {name: w, projected: {sources: [{secret: {name: proj}}]}}], containers: [{name: app, env: [{name: A, valueFrom: {secretKeyRef: {name: env, key: k}}}]}]}`,
		`{phase: Pending, initContainerStatuses: [{name: i, state: {waiting: {reason: ImagePullBackOff}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`)
	s := &diagnosetest.Memory{Objects: objects}
	gather(t, s, live)
	want := []string{"exists Secret env", "exists Secret proj", "exists Secret pull", "exists Secret vol"}
	var got []string
	for _, what := range s.Asked() {
		if strings.Contains(what, "Secret") {
			got = append(got, what)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Without the right to list workloads, one cause says so. Nothing is read that would only help to
// find a workload.
func TestGatherControllerWithoutListPermission(t *testing.T) {
	forbidden := diagnosetest.Forbidden("these")
	const stale = `, generation: 3, managedFields: [{manager: widget-operator, operation: Update, subresource: status, time: "2026-01-01T11:55:00Z"}]`
	live := diagnosetest.Read(t, widget(stale, ", status: {observedGeneration: 2}"))[0]
	for name, failing := range map[string]map[string]error{
		"workloads may be listed":     nil,
		"workloads may not be listed": {"Deployment": forbidden, "StatefulSet": forbidden, "DaemonSet": forbidden},
	} {
		m := &diagnosetest.Memory{Objects: []*unstructured.Unstructured{live}, Answers: diagnosetest.Answers{Failing: failing}}
		causes := unready.Diagnose(gather(t, m, live))
		asked := strings.Join(m.Asked(), "\n")
		t.Logf("%s: %d requests", name, len(m.Asked()))
		if strings.Contains(asked, "ClusterRole") != (failing == nil) || strings.Contains(asked, "Lease") != (failing == nil) {
			t.Errorf("%s: asked\n%s", name, asked)
		}
		if failing == nil {
			continue
		}
		last := causes[len(causes)-1]
		if want := "so their state is unknown: daemonsets, deployments, statefulsets"; last.Code != "NotAllowed" || !strings.HasSuffix(last.Message, want) {
			t.Errorf("%s: %+v", name, last)
		}
	}
}
