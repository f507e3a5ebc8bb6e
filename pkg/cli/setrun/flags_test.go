package setrun

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// The prompt for deleting a set lists the objects above the question, and the question does not
// repeat them. Without a terminal, the error names the objects. It does not mention an input,
// because there is none.
func TestConfirmAll(t *testing.T) {
	d := applyset.Decision{Doomed: []applyset.Member{{Ref: object.Ref{GVK: schema.GroupVersionKind{Kind: "ConfigMap", Version: "v1"}, Namespace: "shop", Name: "a"}}}}
	var asked string
	no := func(_ context.Context, _ applyset.Decision, doubt string) (bool, error) {
		asked = doubt
		return false, nil
	}
	var refusal *UnconfirmedError
	if err := (&ConfirmFlags{}).Confirm(t.Context(), object.Ref{GVK: schema.GroupVersionKind{Kind: "Secret", Version: "v1"}, Namespace: "shop", Name: "web"}, d, object.DryRunNone, no); !errors.As(err, &refusal) || refusal.Hint() != "" {
		t.Errorf("declined: %v", err)
	}
	if asked != "1 object of the set would be deleted" {
		t.Errorf("asked: %s", asked)
	}
	err := (&ConfirmFlags{}).Confirm(t.Context(), object.Ref{GVK: schema.GroupVersionKind{Kind: "Secret", Version: "v1"}, Namespace: "shop", Name: "web"}, d, object.DryRunNone, nil)
	if !errors.As(err, &refusal) || !strings.HasSuffix(err.Error(), "1 object of the set would be deleted: configmap/a -n shop") {
		t.Fatalf("no terminal: %v", err)
	}
	if !strings.HasPrefix(err.Error(), "secret/web -n shop: nothing was done: ") {
		t.Errorf("the set is not named: %v", err)
	}
	if hint := refusal.Hint(); strings.Contains(hint, "input") || !strings.Contains(hint, "--confirm="+digestOf(d)) {
		t.Errorf("hint: %s", hint)
	}
}

// A digest depends on the set and the doomed objects. It depends neither on the order in which the
// objects were found nor on their versions.
func TestDigestOf(t *testing.T) {
	member := func(name, version string) applyset.Member {
		return applyset.Member{Ref: object.Ref{GVK: schema.GroupVersionKind{Kind: "ConfigMap", Version: version}, Namespace: "shop", Name: name}}
	}
	of := func(id string, doomed ...applyset.Member) string {
		return digestOf(applyset.Decision{ID: id, Doomed: doomed})
	}
	want := of("shop", member("a", "v1"), member("b", "v1"))
	for what, got := range map[string]string{
		"fewer objects": of("shop", member("a", "v1")),
		"other objects": of("shop", member("a", "v1"), member("c", "v1")),
		"another set":   of("web", member("a", "v1"), member("b", "v1")),
	} {
		if got == want {
			t.Errorf("%s have the same digest", what)
		}
	}
	if got := of("shop", member("b", "v2"), member("a", "v1")); got != want {
		t.Errorf("the same objects: %s and %s", want, got)
	}
}
