package webhook

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
)

// Edge case 102: one failed call does not suspend calls, and one successful call does not resume
// them.
func TestCircuit(t *testing.T) {
	for tries, want := range map[string]string{ // + came back, - did not; s suspended
		"+++++":       ".....",
		"+-+--+--+":   ".........",
		"---":         "..s",
		"-----":       "..sss",
		"---+-+-+-":   "..sssssss",
		"---++":       "..ss.",
		"---++-+--":   "..ss.....",
		"---++---":    "..ss...s",
		"---+--++---": "..sssss...s",
	} {
		var c circuit
		got := ""
		for _, try := range tries {
			before := c.suspended
			c.tried(try == '+')
			// After a result that may lead to a change, the next test follows soon.
			if soon := c.pause() == tryAgain; soon != (c.suspended == (try == '+')) || before != c.suspended && soon {
				t.Errorf("%s: suspended %t, the next try after %s", tries, c.suspended, c.pause())
			}
			if c.suspended && c.pause() > trySuspended {
				t.Errorf("%s: while calls are suspended, the next try after %s", tries, c.pause())
			}
			got += map[bool]string{false: ".", true: "s"}[c.suspended]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", tries, got, want)
		}
	}
}

// A term in the selector suspends calls. The other terms of the selector stay, and the entry for
// test calls is not changed.
func TestSuspension(t *testing.T) {
	theirs := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"a": "b"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpExists}},
	}
	is := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}, Webhooks: []admissionv1.ValidatingWebhook{
		{Name: "ownership.k8sconnect.io", ObjectSelector: &metav1.LabelSelector{}},
		{Name: reachEntry},
		{Name: "deprecation.k8sconnect.io", ObjectSelector: theirs.DeepCopy()},
	}}
	before := is.DeepCopy()
	apply := func(suspended bool) []string {
		patch, err := changes(is, suspended, nil)
		if err != nil {
			t.Fatal(err)
		}
		if patch == nil {
			return nil
		}
		var operations []struct {
			Op, Path string
			Value    json.RawMessage
		}
		if err := json.Unmarshal(patch, &operations); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, o := range operations {
			paths = append(paths, o.Op+" "+o.Path)
			for path, e := range map[string]*admissionv1.ValidatingWebhook{"/webhooks/0/objectSelector": &is.Webhooks[0], "/webhooks/2/objectSelector": &is.Webhooks[2]} {
				if path == o.Path {
					e.ObjectSelector = &metav1.LabelSelector{}
					if err := json.Unmarshal(o.Value, e.ObjectSelector); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		return paths
	}
	want := []string{"test /metadata/resourceVersion", "add /webhooks/0/objectSelector", "add /webhooks/2/objectSelector"}
	if diff := cmp.Diff(want, apply(true)); diff != "" {
		t.Error(diff)
	}
	if !isSuspended(is.Webhooks[0]) || !isSuspended(is.Webhooks[2]) || is.Webhooks[2].ObjectSelector.MatchLabels["a"] != "b" {
		t.Errorf("%+v", is.Webhooks)
	}
	if again := apply(true); again != nil {
		t.Errorf("again: %v", again)
	}
	apply(false)
	if diff := cmp.Diff(before, is); diff != "" {
		t.Errorf("resumed (-before +after):\n%s", diff)
	}
}

// For custom resources, the API server calls only for deprecated versions. Only CRDs name these
// versions.
func TestCustomRules(t *testing.T) {
	var c admission.Catalogue
	define := func(name, group, kind string, versions ...any) {
		u := definition()
		u.SetName(name)
		u.Object["spec"] = map[string]any{"group": group, "versions": versions}
		u.Object["status"] = map[string]any{"acceptedNames": map[string]any{"kind": kind}}
		c.Set(u)
	}
	version := func(name string, deprecated bool) any {
		return map[string]any{"name": name, "served": true, "deprecated": deprecated}
	}
	define("birds.example.com", "example.com", "Bird", version("v1", false), version("v1beta1", true))
	define("fish.example.net", "example.net", "Fish", version("v1", false))
	is := &admissionv1.ValidatingWebhookConfiguration{Webhooks: []admissionv1.ValidatingWebhook{
		{Name: "ownership.k8sconnect.io"}, {Name: customEntry},
	}}
	patch, err := changes(is, false, c.Resources())
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"op":"test","path":"/metadata/resourceVersion","value":""},{"op":"add","path":"/webhooks/1/rules","value":[` +
		`{"operations":["CREATE","UPDATE"],"apiGroups":["example.com"],"apiVersions":["v1beta1"],"resources":["birds"],"scope":"*"}]}]`
	if diff := cmp.Diff(want, string(patch)); diff != "" {
		t.Error(diff)
	}
	is.Webhooks[1].Rules = rulesFor(c.Resources())
	if patch, err := changes(is, false, c.Resources()); err != nil || patch != nil {
		t.Errorf("got patch %s (%v) for unchanged rules, want none", patch, err)
	}
	c.Delete("birds.example.com")
	if patch, _ := changes(is, false, c.Resources()); patch == nil {
		t.Error("got no patch after a CRD was deleted, want one")
	}
}
