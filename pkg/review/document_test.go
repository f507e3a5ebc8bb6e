package review

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// The digest of an object whose document masks more than the digest does cannot be recomputed. Nevertheless
// the content of such an object cannot be edited: a run that only has to create it again compares nothing else.
func TestContentIsBound(t *testing.T) {
	p := planOf(event.Compared{
		Ref: refTo("Job", "j"), Action: event.Recreate, UID: "1", After: map[string]any{"spec": map[string]any{"image": "a"}},
		Changes: []managedfields.Change{{Path: fieldpath.Field("spec", "url"), Kind: managedfields.Changed, From: "x", To: "hunter2"}},
	})
	reviewed := p.Reviewed("")
	text, err := json.Marshal(map[string]any{
		"kind": "DiffResult", "digest": reviewed.Digest, "summary": map[string]int{"recreated": 1}, "objects": []any{map[string]any{
			"apiVersion": "v1", "kind": "Job", "namespace": "shop", "name": "j", "action": "recreated", "uid": "1",
			"digest": reviewed.Objects[0].Digest, "content": reviewed.Objects[0].Content,
			"changes": []any{map[string]any{"path": ".spec.url", "change": "changed", "from": "x", "to": redact.Mask}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		from, to string
		is       bool
	}{
		"as printed":      {"", "", true},
		"another content": {reviewed.Objects[0].Content, strings.Repeat("0", 2*size), false},
		"no content":      {`"content":"` + reviewed.Objects[0].Content + `",`, "", false},
	} {
		read, err := Read([]byte(strings.Replace(string(text), tt.from, tt.to, 1)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := read.Is(); got != tt.is {
			t.Errorf("%s: Is() = %t", name, got)
		}
	}
}

// The summary of a plan counts each of its objects.
func TestSummaryIsWhole(t *testing.T) {
	entry := func(name, action string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "name": name, "action": action}
	}
	for name, tt := range map[string]struct {
		summary map[string]int
		ok      bool
	}{
		"all counts":    {map[string]int{"unchanged": 2, "kept": 1, "created": 0}, true},
		"a count fewer": {map[string]int{"unchanged": 2}, false},
		"another count": {map[string]int{"unchanged": 1, "kept": 1}, false},
		"a new count":   {map[string]int{"unchanged": 2, "kept": 1, "pruned": 1}, false},
		"no summary":    {nil, true},
	} {
		text, err := json.Marshal(map[string]any{
			"kind": "DiffResult", "digest": planOf().Digest(""), "summary": tt.summary,
			"objects": []any{entry("a", "unchanged"), entry("b", "unchanged"), entry("c", "kept")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(text); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A name that is also the value of a Secret is not masked in the output, so it must not be masked in a digest.
func TestDigestMasksNoNames(t *testing.T) {
	const name = "the-continuous-deployer"
	owner := managedfields.Owner{Manager: name, Operation: managedfields.Apply}
	learn := func(p *Plan) *Plan {
		p.Learn(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "shop"}, "stringData": map[string]any{"k": name},
		}})
		return p
	}
	for kind, change := range map[string]func(*event.Compared){
		"an object":           func(c *event.Compared) { c.Ref.Name = name },
		"an owner of a value": func(c *event.Compared) { c.Changes[0].Owners = []managedfields.Owner{owner} },
		"an owner of a path": func(c *event.Compared) {
			c.Ownership = []event.OwnerChange{{Becomes: event.BecomesTaken, Owners: []managedfields.Owner{owner}, Paths: []string{".a"}}}
		},
		"an adopted manager": func(c *event.Compared) { c.Adopted = []string{name} },
	} {
		u := update(time.Unix(1, 0))
		change(&u)
		got, want := learn(planOf(u)).Outcomes()[u.Ref.Key()], planOf(u).Outcomes()[u.Ref.Key()]
		if got.Digest() != want.Digest() || got.Secret {
			t.Errorf("%s: its name is masked", kind)
		}
	}
	u := update(time.Unix(1, 0))
	u.Changes[1].To = name
	if got := learn(planOf(u)).Outcomes()[u.Ref.Key()]; !got.Secret {
		t.Error("a value that no name explains is not masked")
	}
}

// A plan without a digest is refused with advice.
func TestPlanWithoutDigest(t *testing.T) {
	if _, err := Read([]byte(`{"kind": "DiffResult", "objects": [{"action": "unknown"}]}`)); err == nil || !strings.Contains(object.HintOf(err), "apply the CRD first") {
		t.Errorf("%v: hint %q", err, object.HintOf(err))
	}
}

// The output does not mask a value that is the name of an object outside the plan. Such a plan is not taken
// for an edited one, and an edited one is.
func TestVerify(t *testing.T) {
	const name = "the-name-of-another-secret"
	u := update(time.Unix(1, 0))
	u.Changes = []managedfields.Change{{Path: fieldpath.Field("data", "k"), Kind: managedfields.Changed, From: "x", To: name}}
	p := planOf(u)
	p.Learn(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "shop"}, "stringData": map[string]any{"k": name},
	}})
	reviewed := p.Reviewed("")
	for to, ok := range map[string]bool{name: true, "another-value": false} {
		text, err := json.Marshal(map[string]any{
			"kind": "DiffResult", "digest": reviewed.Digest, "objects": []any{map[string]any{
				"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web", "action": "configured", "digest": reviewed.Objects[0].Digest,
				"changes": []any{map[string]any{"path": ".data.k", "change": "changed", "from": "x", "to": to}},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		read, err := Read(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := read.Verify(p); (err == nil) != ok {
			t.Errorf("%s: %v", to, err)
		}
	}
}
