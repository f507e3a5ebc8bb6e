package apply

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// One run reports the conflicts of all phases. It sends no dry run for absent objects, or for
// objects that need an absent one.
func TestPhasesAfterAConflictAreChecked(t *testing.T) {
	b := item(t, "b")
	server := &fake{live: map[string]*unstructured.Unstructured{
		"b": held(t, "b", "other"), "c": held(t, "c", "other"), "d": held(t, "d", "other"), "e": held(t, "e", "other"),
	}}
	server.apply = func(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
		if !how.DryRun {
			t.Errorf("%s is written", u.GetName())
		}
		switch u.GetName() {
		case "d", "e":
			return nil, apierrors.NewBadRequest("no")
		default:
			return taken(t, u.GetName()), nil
		}
	}
	unserved := item(t, "unserved")
	unserved.Kind.Resource = ""
	r := newRun(server)
	err := r.engine.Run(t.Context(), phases(
		[]plan.Item{b},
		[]plan.Item{item(t, "c"), item(t, "d"), item(t, "e", b.Key()), item(t, "new", b.Key())},
		[]plan.Item{unserved},
	))

	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || incomplete.Outcome != (Outcome{Conflicts: 2, Rejected: 1}) {
		t.Errorf("Run() = %v, want two conflicts and one refused", err)
	}
	want := []string{"b conflict", "c conflict", "d failed", "e skipped", "new skipped", "unserved skipped"}
	if diff := cmp.Diff(want, r.results()); diff != "" {
		t.Error(diff)
	}
	slices.Sort(server.calls)
	if diff := cmp.Diff([]string{"try b", "try b", "try c", "try c", "try d", "try e"}, server.calls); diff != "" {
		t.Errorf("requests: %s", diff)
	}
}

// An unchanged object in a phase with a conflict is reported as unchanged, even if only a dry run
// shows that it is unchanged.
func TestUnchangedObjectInPhaseWithConflict(t *testing.T) {
	same := parse(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  namespace: n
  name: same
  resourceVersion: "7"
  managedFields:
  - {manager: k8sconnect, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}
data: {a: stored in another form}
`)
	server := &fake{live: map[string]*unstructured.Unstructured{"a": held(t, "a", "other"), "same": same}}
	server.apply = func(u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
		if u.GetName() == "same" {
			return same, nil
		}
		return taken(t, "a"), nil
	}
	r := newRun(server)
	if err := r.engine.Run(t.Context(), phases([]plan.Item{item(t, "a"), item(t, "same")})); err == nil {
		t.Error("Run() = nil, want an error")
	}
	if diff := cmp.Diff([]string{"a conflict", "same unchanged"}, r.results()); diff != "" {
		t.Error(diff)
	}
}
