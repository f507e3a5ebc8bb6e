package unready_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// shelf is a Reader of objects that lie there. It notes what it was asked.
type shelf struct {
	objects []*unstructured.Unstructured
	// forbidden kinds may not be read, broken ones can not, unserved are not served.
	forbidden, broken, unserved []string

	mu    sync.Mutex
	asked []string
}

func (s *shelf) ask(verb string, gvk schema.GroupVersionKind, rest string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.TrimSpace(verb+" "+gvk.Kind+" "+rest))
	switch {
	case slices.Contains(s.forbidden, gvk.Kind):
		return apierrors.NewForbidden(schema.GroupResource{Resource: gvk.Kind}, "", errors.New("no"))
	case slices.Contains(s.broken, gvk.Kind):
		return errors.New("the server is on fire")
	case slices.Contains(s.unserved, gvk.Kind):
		return &meta.NoKindMatchError{GroupKind: gvk.GroupKind()}
	}
	return nil
}

func (s *shelf) Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	if err := errors.Join(s.ask("get", ref.GVK, ref.Name), context.Cause(ctx)); err != nil {
		return nil, err
	}
	for _, u := range s.objects {
		if object.RefOf(u).Key() == ref.Key() {
			return u.DeepCopy(), nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: ref.GVK.Kind}, ref.Name)
}

func (s *shelf) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	if err := s.ask("exists", ref.GVK, ref.Name); err != nil {
		return false, err
	}
	return slices.ContainsFunc(s.objects, func(u *unstructured.Unstructured) bool { return object.RefOf(u).Key() == ref.Key() }), context.Cause(ctx)
}

func (s *shelf) Select(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	if err := errors.Join(s.ask("list", gvk, which.Labels+fields), context.Cause(ctx)); err != nil {
		return err
	}
	selector, err := labels.Parse(which.Labels)
	if err != nil {
		return err
	}
	for _, u := range s.objects {
		if u.GroupVersionKind() == gvk && (which.Namespace == "" || u.GetNamespace() == which.Namespace) && selector.Matches(labels.Set(u.GetLabels())) {
			visit(u.DeepCopy())
		}
	}
	return nil
}

// web is a Deployment with n Pods; status is that of each.
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
	facts := story{facts: strings.Join(docs, "\n---\n")}.gathered(t)
	return facts.Object, facts.Others
}

func gather(t *testing.T, s *shelf, live *unstructured.Unstructured) unready.Facts {
	t.Helper()
	facts, err := unready.Gather(t.Context(), s, live)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.asked)
	return facts
}

// TestGatherManyPods: one list, few details, and all are counted.
func TestGatherManyPods(t *testing.T) {
	live, objects := web(t, 500, `{nodeName: node-1, containers: [{name: app, envFrom: [{secretRef: {name: keys}}]}]}`,
		`{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError}}}]}`)
	s := &shelf{objects: objects}
	causes := unready.Diagnose(gather(t, s, live))
	want := []string{
		"exists Secret keys", "get Namespace prod", "get Node node-1",
		"list Event type!=Normal", "list Pod app=web", "list ReplicaSet app=web",
	}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if len(causes) != 1 || causes[0].Message != "200 Pods: container app needs Secret keys, which does not exist" {
		t.Fatalf("causes %+v", causes)
	}
	if text := strings.Join(causes[0].Evidence, "; "); !strings.Contains(text, "and 300 more Pods that are not ready") {
		t.Errorf("evidence %s", text)
	}
}

// TestGatherOnlyWhatIsAskedFor: of Pods that are ready, nothing is read.
func TestGatherOnlyWhatIsAskedFor(t *testing.T) {
	live, objects := web(t, 500, `{nodeName: node-1, containers: [{name: app, envFrom: [{secretRef: {name: keys}}]}]}`,
		`{phase: Running, conditions: [{type: Ready, status: "True"}]}`)
	s := &shelf{objects: objects}
	facts := gather(t, s, live)
	want := []string{"get Namespace prod", "list Event type!=Normal", "list Pod app=web", "list ReplicaSet app=web"}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if len(facts.Others) > 40 || facts.More != 0 {
		t.Errorf("%d objects kept, %d more", len(facts.Others), facts.More)
	}
}

// TestGatherForbidden: what may not be read, or can not, is unknown and not none
// (edge case 67).
func TestGatherForbidden(t *testing.T) {
	tests := map[string]struct {
		shelf *shelf
		want  []string
	}{
		"all":                       {&shelf{forbidden: []string{"Namespace", "ReplicaSet", "Pod", "Event", "Node"}}, []string{"NotAllowed"}},
		"Secrets":                   {&shelf{forbidden: []string{"Secret"}}, []string{"ContainerConfigError", "NotAllowed"}},
		"broken":                    {&shelf{broken: []string{"Pod"}}, []string{"Unreadable"}},
		"a kind that is not served": {&shelf{unserved: []string{"Event"}}, []string{"SecretMissing"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			live, objects := web(t, 3, `{nodeName: node-1, containers: [{name: app, envFrom: [{secretRef: {name: keys}}]}]}`,
				`{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: odd}}}]}`)
			s := &shelf{objects: objects, forbidden: tt.shelf.forbidden, broken: tt.shelf.broken, unserved: tt.shelf.unserved}
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

// TestGatherInterrupted: the facts go as far as the time, what is beyond it is
// unknown, and the error says why.
func TestGatherInterrupted(t *testing.T) {
	live, objects := web(t, 3, "{}", "{}")
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	facts, err := unready.Gather(ctx, &shelf{objects: objects}, live)
	if !errors.Is(err, over) || facts.Object != live || len(facts.Unread) == 0 || len(facts.Absent) != 0 {
		t.Errorf("error %v, unread %v, absent %v", err, facts.Unread, facts.Absent)
	}
}

// TestGatherNeverReadsSecrets: of Secrets, only whether they are there is asked.
func TestGatherNeverReadsSecrets(t *testing.T) {
	live, objects := web(t, 1, `{nodeName: node-1, imagePullSecrets: [{name: pull}], volumes: [{name: v, secret: {secretName: vol}}, {name: w, projected: {sources: [{secret: {name: proj}}]}}], containers: [{name: app, env: [{name: A, valueFrom: {secretKeyRef: {name: env, key: k}}}]}]}`,
		`{phase: Pending, initContainerStatuses: [{name: i, state: {waiting: {reason: ImagePullBackOff}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`)
	s := &shelf{objects: objects}
	gather(t, s, live)
	want := []string{"exists Secret env", "exists Secret proj", "exists Secret pull", "exists Secret vol"}
	var got []string
	for _, what := range s.asked {
		if strings.Contains(what, "Secret") {
			got = append(got, what)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
