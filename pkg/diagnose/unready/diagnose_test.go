package unready_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/commandtest"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// story is a cluster, and the causes that the rules must find in it.
type story struct {
	// facts are YAML documents: the object, then others. Objects to which these only refer exist
	// and have no fault.
	facts string
	// absent are objects that do not exist. unread are those that we may not read. Reads of broken
	// ones fail. Each is an object or a kind: "Secret/prod/keys".
	absent, unread, broken []string
	// want are the expected causes, each as "Code: message".
	want []string
	// brief is set if the cause passes with time, so that it is not reported before the wait ends.
	brief bool
	// next and blocked are the expected command and blocking object of the first cause. They are
	// not checked if they are empty.
	next, blocked string
	// evidence contains lines that must be in the evidence of the first cause.
	evidence []string
}

// everyPod selects all Pods: the stories distinguish Pods by owner and not by labels.
const everyPod = `selector: {matchExpressions: [{key: nothing, operator: DoesNotExist}]}`

func (s story) run(t *testing.T) {
	t.Helper()
	causes := s.diagnosed(t)
	var got []string
	for _, c := range causes {
		got = append(got, c.Code+": "+c.Message)
		if !slices.Contains(listed(t), c.Code) {
			t.Errorf("%s is not in docs/unready.md", c.Code)
		}
	}
	if diff := cmp.Diff(s.want, got); diff != "" {
		t.Fatalf("causes (-want +got):\n%s", diff)
	}
	if len(causes) == 0 {
		return
	}
	first := causes[0]
	if next := commandtest.Plain(first.Next); s.next != "" && next != s.next {
		t.Errorf("next: %s, want %s", next, s.next)
	}
	if s.blocked != "" && first.BlockedBy.String() != s.blocked {
		t.Errorf("blocked by %s, want %s", first.BlockedBy, s.blocked)
	}
	for _, line := range s.evidence {
		if !strings.Contains("\n"+strings.Join(first.Evidence, "\n")+"\n", "\n"+line+"\n") {
			t.Errorf("evidence %q does not contain %q", first.Evidence, line)
		}
	}
	sane(t, causes)
	if !s.brief {
		s.hangs(t, causes)
	}
}

// sane checks that every string of a cause is on one line, even if a message in the cluster has
// several.
func sane(t *testing.T, causes []event.Cause) {
	t.Helper()
	for _, c := range causes {
		commandtest.Check(t, c.Next)
		for _, text := range append([]string{c.Message, c.Next, c.Risk}, c.Evidence...) {
			if strings.ContainsAny(text, "\n\r\x1b\x00") || len(text) > 1000 {
				t.Errorf("%s: text has several lines or is too long: %q", c.Code, text)
			}
		}
		if c.Message == "" || len(c.Evidence) == 0 && c.Code != "NodeMissing" {
			t.Errorf("%s: no message or no evidence: %+v", c.Code, c)
		}
	}
}

func (s story) diagnosed(t *testing.T) []event.Cause {
	t.Helper()
	m := s.teller(t)
	facts, err := unready.Gather(t.Context(), m, m.Objects[0])
	if err != nil {
		t.Fatal(err)
	}
	facts.Now = diagnosetest.Now()
	return unready.Diagnose(facts)
}

// teller returns the story's cluster.
func (s story) teller(t *testing.T) *teller {
	t.Helper()
	objects := diagnosetest.Read(t, s.facts)
	m := &teller{Memory: diagnosetest.Memory{Objects: objects, Answers: diagnosetest.Answers{Failing: map[string]error{}}}, absent: s.absent}
	for _, text := range s.unread {
		r := named(text)
		m.Failing[strings.TrimSuffix(r.GVK.Kind+"/"+r.Name, "/")] = diagnosetest.Forbidden(r.GVK.Kind)
	}
	for _, text := range s.broken {
		m.Failing[named(text).GVK.Kind] = errors.New("the server is\non fire")
	}
	return m
}

// teller is a cluster that contains the objects of a story. Every other object exists in it and has
// no fault.
type teller struct {
	diagnosetest.Memory
	absent []string
}

func (s *teller) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := s.Memory.Get(ctx, gvk, namespace, name)
	if r := (object.Ref{GVK: gvk, Namespace: namespace, Name: name}); u == nil && err == nil && !s.isAbsent(r) {
		u = &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		u.SetNamespace(namespace)
		u.SetName(name)
		if gvk.Kind == "PersistentVolumeClaim" {
			u.Object["status"] = map[string]any{"phase": "Bound"}
		}
	}
	return u, err
}

func (s *teller) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	_, err := s.Memory.Exists(ctx, ref)
	return err == nil && !s.isAbsent(ref), err
}

func (s *teller) isAbsent(ref object.Ref) bool {
	return slices.ContainsFunc(s.absent, func(text string) bool { return named(text).Key() == ref.Key() })
}

// named parses KIND.GROUP/NAMESPACE/NAME; the name may be empty.
func named(text string) object.Ref {
	parts := strings.Split(text, "/")
	kind, group, _ := strings.Cut(parts[0], ".")
	r := object.Ref{GVK: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Name: parts[len(parts)-1]}
	if len(parts) > 2 {
		r.Namespace = parts[1]
	}
	return r
}

func stories(t *testing.T, all map[string]story) {
	t.Helper()
	for name, s := range all {
		t.Run(name, func(t *testing.T) { s.run(t) })
	}
}

func TestNoCausesForHealthyObjects(t *testing.T) {
	if got := unready.Diagnose(unready.Facts{}); got != nil {
		t.Errorf("Diagnose() of no facts = %v, want nil", got)
	}
	stories(t, map[string]story{
		"a ConfigMap": {facts: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: prod}}`},
		"a Pod that is ready": {facts: `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: prod}, spec: {nodeName: n},
  status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`},
		"a Deployment with fields of unexpected types": {facts: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: p, namespace: prod}, spec: [odd], status: text}`},
	})
}
