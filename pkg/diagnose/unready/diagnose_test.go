package unready_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command/commandtest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// story is facts as a cluster shows them, and what follows from them.
type story struct {
	// facts are YAML documents: the object, then all others.
	facts string
	// absent and unread are objects, or kinds, as in "Secret/prod/keys".
	absent, unread, broken []string
	more                   int
	// want are the causes, each as "Code: message".
	want []string
	// next and blocked are those of the first cause, where a story is about them.
	next, blocked string
	// evidence has to be in that of the first cause, line by line.
	evidence []string
}

// at is when all facts were gathered.
func at() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func (s story) run(t *testing.T) {
	t.Helper()
	causes := unready.Diagnose(s.gathered(t))
	var got []string
	for _, c := range causes {
		got = append(got, c.Code+": "+c.Message)
		if !slices.Contains(listed(t), c.Code) {
			t.Errorf("%s is not in doc.go", c.Code)
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
			t.Errorf("evidence %q, want among it %q", first.Evidence, line)
		}
	}
	sane(t, causes)
}

// sane: whatever the cluster said, a cause is fit for a line each.
func sane(t *testing.T, causes []event.Cause) {
	t.Helper()
	for _, c := range causes {
		commandtest.Check(t, c.Next)
		for _, text := range append([]string{c.Message, c.Next, c.Risk}, c.Evidence...) {
			if strings.ContainsAny(text, "\n\r\x1b\x00") || len(text) > 1000 {
				t.Errorf("%s: a text that is not fit for a line: %q", c.Code, text)
			}
		}
		if c.Message == "" || len(c.Evidence) == 0 && c.Code != "NodeMissing" {
			t.Errorf("%s: no message or no evidence: %+v", c.Code, c)
		}
	}
}

func (s story) gathered(t *testing.T) unready.Facts {
	t.Helper()
	facts := unready.Facts{Now: at(), More: s.more}
	for doc := range strings.SplitSeq(s.facts, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
		}
		whole(u.Object)
		if facts.Object == nil {
			facts.Object = u
		} else {
			facts.Others = append(facts.Others, u)
		}
	}
	for _, text := range s.absent {
		facts.Absent = append(facts.Absent, named(text))
	}
	for _, text := range s.unread {
		r := named(text)
		err := apierrors.NewForbidden(schema.GroupResource{Resource: r.GVK.Kind}, r.Name, errors.New("no"))
		facts.Unread = append(facts.Unread, unready.Unread{Ref: r, Err: err})
	}
	for _, text := range s.broken {
		facts.Unread = append(facts.Unread, unready.Unread{Ref: named(text), Err: errors.New("the server is\non fire")})
	}
	return facts
}

// whole makes whole numbers int64, as clients decode them.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// named reads KIND.GROUP/NAMESPACE/NAME; the name may be empty.
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

func TestNothingToSay(t *testing.T) {
	if got := unready.Diagnose(unready.Facts{}); got != nil {
		t.Errorf("causes of nothing: %v", got)
	}
	stories(t, map[string]story{
		"a ConfigMap": {facts: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: prod}}`},
		"a Pod that is ready": {facts: `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: prod}, spec: {nodeName: n},
  status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`},
		"a kind that took the name of another": {facts: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: p, namespace: prod}, spec: [odd], status: text}`},
	})
}
