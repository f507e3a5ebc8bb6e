package sets

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// The prompt for deleting a set shows the objects in a list above the question, which does not name
// them again. Without a terminal, the refusal names them; it does not speak of an input, of which
// there is none.
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
	if hint := refusal.Hint(); strings.Contains(hint, "input") || !strings.Contains(hint, "--confirm="+d.Digest()) {
		t.Errorf("hint: %s", hint)
	}
}
