package owners

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// NoWebhookError says that nothing in the cluster records who owned what.
type NoWebhookError struct{}

func (e *NoWebhookError) Error() string {
	return "the webhook of k8sconnect, which records it, is not installed"
}

// Hint says where to read on.
func (e *NoWebhookError) Hint() string {
	return "install it, and what is taken from then on is recorded: " + build.Page("webhook.md#install")
}

// past reads histories. Facts that all of them share are read once.
type past struct {
	reader Reader
	now    func() time.Time
	notes  *notes
}

// of reads the history of an object, limited to what was asked for.
func (p *past) of(ctx context.Context, u *unstructured.Unstructured, owned event.Owned) *event.History {
	record, err := p.record(ctx, u)
	if err != nil {
		return &event.History{Err: err}
	}
	if p.notes == nil {
		read := readNotes(ctx, p.reader)
		p.notes = &read
	}
	coverage, unknown := p.notes.of(u.GroupVersionKind().GroupKind(), u.GetNamespace(), p.now())
	if unknown != nil {
		coverage.Unknown = unknown.Error()
	}
	coverage = coverage.For(u.GetCreationTimestamp().Time)
	h := &event.History{Dropped: record.Dropped, Lost: record.Lost, Coverage: coverage}
	for _, entry := range record.Entries {
		if about(entry.Path, owned) {
			h.Transitions = append(h.Transitions, transitionOf(entry))
		}
	}
	if len(h.Transitions) > 0 {
		return h
	}
	// An empty record means that nothing was taken only if the webhook watches the object.
	if err := cmp.Or(unknown, unvouched(coverage, owned)); err != nil {
		return &event.History{Err: err}
	}
	return h
}

// record reads an object's record; it is empty if there is none. It is in the object's
// namespace or, for an object without one, in the webhook's, which is not known here.
func (p *past) record(ctx context.Context, u *unstructured.Unstructured) (ownership.Record, error) {
	var record ownership.Record
	var found *unstructured.Unstructured
	var err error
	name := ownership.RecordName(u.GetKind(), u.GetUID())
	if namespace := u.GetNamespace(); namespace != "" {
		found, err = p.reader.Read(ctx, object.Ref{GVK: ownership.RecordGVK(), Namespace: namespace, Name: name})
	} else {
		err = p.reader.Select(ctx, ownership.RecordGVK(), object.Selection{Name: name}, "",
			func(u *unstructured.Unstructured) { found = u })
	}
	switch {
	case meta.IsNoMatchError(err):
		return record, &NoWebhookError{}
	case apierrors.IsNotFound(err), err == nil && found == nil:
		return record, nil
	case err != nil:
		return record, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &record); err != nil {
		return record, fmt.Errorf("read %s: %w", object.RefOf(found), err)
	}
	return record, nil
}

// about reports whether a transition concerns what was asked for: its path is at or below
// that, or is a value that contains it.
func about(text string, owned event.Owned) bool {
	if len(owned.Path) == 0 {
		return true
	}
	path, err := fieldpath.ParsePath(text)
	if err != nil { // It was cut, or a later version wrote it: it is better to show it.
		return true
	}
	for _, n := range owned.Fields {
		if path.HasPrefix(n.Path) {
			return true
		}
	}
	return path.HasPrefix(owned.Path) || owned.Path.HasPrefix(path)
}

func transitionOf(e ownership.Entry) event.Transition {
	return event.Transition{
		Path: e.Path, Kind: string(e.Kind), From: ownersOf(e.From), To: ownersOf(e.To), Cut: e.Cut,
		Forced: e.Forced, Gap: e.Gap, User: e.User,
		Count: e.Count, First: e.First.Time, Last: e.Last.Time,
	}
}

func ownersOf(holders []ownership.Holder) []managedfields.Owner {
	out := make([]managedfields.Owner, len(holders))
	for i, h := range holders {
		out[i] = managedfields.Owner{Manager: h.Manager, Operation: h.Operation, Subresource: h.Subresource, APIVersion: h.APIVersion}
	}
	return out
}
