package owners

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// DeletionsOf reads the recorded deletions of objects with a name, newest first. The error is a
// *NoWebhookError if no webhook records deletions.
func DeletionsOf(ctx context.Context, reader Reader, ref object.Ref) ([]event.Deletion, error) {
	found, err := deletionsWithName(ref).deletions(ctx, reader)
	if meta.IsNoMatchError(err) {
		return nil, &NoWebhookError{}
	}
	return found.Found, err
}

// DeletionsOfMissing is like [DeletionsOf] for an object that does not exist. The result also says when
// deletions were watched, from the latest recorded one on. It returns an error along with the result as
// [Query.Deletions] does.
func DeletionsOfMissing(ctx context.Context, reader Reader, ref object.Ref, now time.Time) (event.Deletions, error) {
	out, err := deletionsWithName(ref).Deletions(ctx, reader, now)
	if len(out.Found) > 0 {
		latest := out.Found[0].Time()
		out.Coverage = out.Coverage.For(latest)
		if out.Until.Before(latest) {
			out.Dropped, out.Until = 0, time.Time{}
		}
	}
	return out, err
}

func deletionsWithName(ref object.Ref) Query {
	return Query{Places: []Place{{Kind: ref.GVK.GroupKind(), Namespace: ref.Namespace}}, Namespace: ref.Namespace, name: ref.Name}
}

// Deletions reads the recorded deletions. It returns an error along with the result if a record
// cannot be decoded, or if the result is empty and this does not prove that nothing was deleted.
func (q Query) Deletions(ctx context.Context, reader Reader, now time.Time) (event.Deletions, error) {
	out, err := q.deletions(ctx, reader)
	switch {
	case meta.IsNoMatchError(err):
		return out, &NoWebhookError{}
	case err != nil:
		return out, err
	}
	q.gone = true
	var covered event.PastChanges
	unknown := q.cover(ctx, reader, &covered, readNotes(ctx, reader), now)
	out.Coverage, out.Limits = covered.Coverage, covered.Limits
	if len(out.Found) == 0 {
		return out, cmp.Or(unknown, unvouched(out.Coverage, false))
	}
	return out, nil
}

// deletions reads the records in the namespace and, if permitted, those in the webhook's namespace,
// which have the deletions in namespaces that went.
func (q Query) deletions(ctx context.Context, reader Reader) (event.Deletions, error) {
	out := event.Deletions{From: q.From}
	records := map[types.NamespacedName]ownership.Record{}
	var faults []error
	read := func(namespace string) error {
		which := object.Selection{Namespace: namespace, Labels: ownership.DeletionLabel}
		return reader.Select(ctx, ownership.RecordGVK(), which, "", func(u *unstructured.Unstructured) {
			var r ownership.Record
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &r); err != nil {
				faults = append(faults, fmt.Errorf("read %s: %w", object.RefOf(u), err))
				return
			}
			records[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}] = r
		})
	}
	err := read("")
	if apierrors.IsForbidden(err) && q.Within() != "" {
		err = read(q.Within())
	}
	if err != nil {
		return out, err
	}
	for _, r := range records {
		q.addDeletions(&out, r)
	}
	slices.SortFunc(out.Found, func(a, b event.Deletion) int {
		// The recorded times are in whole seconds. Without a version, an object went while nothing watched.
		return cmp.Or(b.Time().Compare(a.Time()), cmp.Compare(version(b), version(a)), a.Ref.Compare(b.Ref), cmp.Compare(a.UID, b.UID))
	})
	return out, errors.Join(faults...)
}

func version(d event.Deletion) uint64 {
	n, _ := strconv.ParseUint(d.Version, 10, 64)
	return n
}

func (q Query) addDeletions(out *event.Deletions, r ownership.Record) {
	for _, d := range r.Deletions {
		if !q.concerns(d.Object) || d.Time().Before(q.From) || q.name != "" && q.name != d.Object.Name {
			continue
		}
		out.Found = append(out.Found, event.Deletion{
			Ref: object.Ref{GVK: schema.FromAPIVersionAndKind(d.Object.APIVersion, d.Object.Kind), Namespace: d.Object.Namespace, Name: d.Object.Name},
			UID: string(d.Object.UID), Asked: d.Asked.UTC(), Gone: d.Gone.UTC(), Version: d.Version, By: string(d.By), User: d.User, Several: d.Several,
			ViaKind: d.Via.Kind, Via: d.Via.Name, Owners: ownersOf(d.Owners), Gap: d.Gap,
		})
	}
	if (q.Namespace == "" || r.Namespace == q.Namespace) && !r.DroppedUntil.Time.Before(q.From) {
		out.Dropped += r.DeletionsDropped
		if until := r.DroppedUntil.UTC(); until.After(out.Until) {
			out.Until = until
		}
	}
}
