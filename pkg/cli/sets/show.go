package sets

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Leaving reports, for a diff, what a prune would do: show shows what is doomed.
func (r *Run) Leaving(ctx context.Context, show func(context.Context, []applyset.Member) error) error {
	for _, k := range r.shown.Kept {
		if k.Reason != applyset.Copied {
			r.Emit(event.Compared{Ref: k.Ref, Action: event.None, Departed: true, Reason: "left the input, and stays: " + k.Text()})
		}
	}
	if len(r.shown.Doomed) == 0 {
		return nil
	}
	return show(ctx, r.shown.Doomed)
}

// Show reports members that would be deleted, as they are. The values of Secrets are
// masked.
func Show(ctx context.Context, reader object.LiveReader, doomed []applyset.Member, emit func(event.Event)) error {
	manifests, _, err := read(ctx, reader, doomed)
	if err != nil {
		return err
	}
	slices.SortFunc(manifests, func(a, b object.Manifest) int { return object.RefOf(a.Object).Compare(object.RefOf(b.Object)) })
	for _, m := range manifests {
		ref := object.RefOf(m.Object)
		before, _ := redact.Pair(ref, written(m.Object), nil)
		emit(event.Compared{Ref: ref, Action: event.Delete, Departed: true, Before: before})
	}
	return nil
}

// written returns what users wrote in an object: without the fields that only the server
// writes.
func written(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	delete(u.Object, "status")
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u.Object
}
