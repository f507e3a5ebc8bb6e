package apply

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// deletions are the reviewed deletions that a run has yet to make. A member that leaves its set during the
// run, is claimed by another owner, or is marked to be kept, is not deleted, although nothing fails.
type deletions struct {
	pending map[object.Key]applyset.Member
}

// of begins to watch the reviewed deletions.
func (d *deletions) of(decision applyset.Decision) {
	d.pending = map[object.Key]applyset.Member{}
	for _, m := range decision.Doomed {
		d.pending[m.Ref.Key()] = m
	}
}

func (d *deletions) watching(emit func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		if a, ok := e.(event.Applied); ok && a.Departed && a.Action == event.Pruned {
			delete(d.pending, a.Ref.Key())
		}
		emit(e)
	}
}

// check returns an error if a reviewed object still exists after a run that has otherwise succeeded.
func (d *deletions) check(ctx context.Context, server object.Getter, parent object.Ref, emit func(event.Event)) error {
	var names []string
	for _, m := range d.pending {
		live, err := server.Get(ctx, m.Kind, m.Ref)
		switch {
		case apierrors.IsNotFound(err), store.IsUnserved(err):
		case err != nil:
			return err
		case live.GetUID() == m.UID:
			names = append(names, m.Ref.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	const shown = 5
	emit(event.Warned{Ref: parent, Text: "kept, but reviewed to be deleted: " + text.List(names, shown)})
	return keptError{}
}

// keptError means that reviewed deletions were not made. A warning has named them.
type keptError struct{}

func (keptError) Error() string { return "not everything was deleted as reviewed" }

// Undetermined is false: the result of every object is known.
func (keptError) Undetermined() bool { return false }
