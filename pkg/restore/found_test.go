package restore_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
)

// refusing is a server that refuses every write. Its reads return the objects in seen one after
// another, and then repeat the last.
type refusing struct {
	seen  []*unstructured.Unstructured
	blind bool // after the first read
	reads int
}

func (r *refusing) Get(context.Context, object.Kind, object.Ref) (*unstructured.Unstructured, error) {
	r.reads++
	if r.blind && r.reads > 1 {
		return nil, errors.New("no answer")
	}
	live := r.seen[min(r.reads, len(r.seen))-1]
	if live == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, "x")
	}
	return live, nil
}

func (*refusing) Apply(context.Context, object.Kind, *unstructured.Unstructured, object.Write) (*unstructured.Unstructured, error) {
	return nil, errors.New("frozen")
}

func (*refusing) SetManagedFields(context.Context, object.Kind, *unstructured.Unstructured, []any) (*unstructured.Unstructured, error) {
	return nil, errors.New("frozen")
}

// A failed rollback reports the current state of the object, not its state at the start of the
// rollback.
func TestFailedRollbackReportsCurrentState(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	one, two, three := types.UID("one"), types.UID("two"), types.UID("three")
	changed := restore.Note{Before: at(kind, one, "1"), After: at(kind, one, "2")}
	created := restore.Note{After: at(kind, one, "1")}
	recreated := restore.Note{Before: at(kind, one, "1"), After: at(kind, two, "2"), Removed: true}
	pruned := restore.Note{Before: at(kind, one, "1"), Removed: true, Pruned: true}
	for name, test := range map[string]struct {
		note restore.Note
		seen []*unstructured.Unstructured
		want string
	}{
		"refused": {changed, []*unstructured.Unstructured{at(kind, one, "2")}, "it is still as this run left it"},
		"refused, object changed in the meantime":       {changed, []*unstructured.Unstructured{at(kind, one, "3")}, "it is as this run left it, with later changes by others"},
		"refused, object deleted in the meantime":       {changed, []*unstructured.Unstructured{at(kind, one, "2"), nil}, "it does not exist now"},
		"refused, object replaced in the meantime":      {changed, []*unstructured.Unstructured{at(kind, one, "2"), at(kind, three, "3")}, "another object has its name now"},
		"refused, object possibly changed by this run":  {restore.Note{Before: at(kind, one, "1")}, []*unstructured.Unstructured{at(kind, one, "2")}, "it is unknown whether this run changed it"},
		"created, and cannot be deleted":                {created, []*unstructured.Unstructured{at(kind, one, "1")}, "it is still as this run left it"},
		"created, and deletion does not finish":         {created, []*unstructured.Unstructured{at(kind, one, "1"), at(kind, one, "2", "2026-01-01T00:00:00Z")}, "it is being deleted"},
		"recreated, then deleted but not created again": {recreated, []*unstructured.Unstructured{at(kind, two, "2"), nil}, "it does not exist now"},
		"pruned, and not created again":                 {pruned, []*unstructured.Unstructured{nil}, "it does not exist now"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &refusing{seen: test.seen}
			if got := failed(t, server, test.note, t.Context()); got.Reason != test.want {
				t.Errorf("got reason %q, want %q", got.Reason, test.want)
			}
		})
	}
	t.Run("object cannot be read", func(t *testing.T) {
		server := &refusing{seen: []*unstructured.Unstructured{at(kind, one, "2")}, blind: true}
		if got := failed(t, server, changed, t.Context()); got.Reason != "its current state is unknown" {
			t.Errorf("got reason %q, want that the current state is unknown", got.Reason)
		}
	})
	t.Run("out of time", func(t *testing.T) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		server := &refusing{seen: []*unstructured.Unstructured{at(kind, one, "2")}}
		got := failed(t, server, changed, over)
		if want := "it was not read again: it is as this run left it, unless others have changed it since"; got.Reason != want || server.reads > 0 {
			t.Errorf("got reason %q after %d reads, want %q without a read", got.Reason, server.reads, want)
		}
	})
}

func failed(t *testing.T, server *refusing, n restore.Note, ctx context.Context) event.RolledBack { //nolint:revive // t comes first
	t.Helper()
	n.Ref = object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "x"}
	var reported event.RolledBack
	engine := restore.Engine{
		Server: server, Manager: "k8sconnect",
		Remove: func(context.Context, object.Kind, object.Ref, types.UID, func(*unstructured.Unstructured) string) error {
			if n.Removed {
				return nil
			}
			return errors.New("it does not go")
		},
		Emit: func(e event.Event) {
			if back, ok := e.(event.RolledBack); ok {
				reported = back
			}
		},
	}
	var incomplete *restore.IncompleteError
	if err := engine.Run(ctx, [][]restore.Note{{n}}); !errors.As(err, &incomplete) || incomplete.Failed != 1 {
		t.Errorf("got error %v, want an IncompleteError with one failed object", err)
	}
	if reported.Action != event.Failed || reported.Err == nil {
		t.Errorf("got event %+v, want a failure with an error", reported)
	}
	return reported
}
