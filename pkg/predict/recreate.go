package predict

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

const whenImmutable = "immutable"

// Recreation says that a manifest can take effect only if the object is recreated, and that the
// user wants that.
type Recreation struct {
	// UID is the UID of the object to delete.
	UID types.UID
	// Reason names the immutable fields.
	Reason string
	// Answer is the server's answer to the manifest as a new object.
	Answer *unstructured.Unstructured
	// Lost is what others own of the object, and the new one will not have.
	Lost []managedfields.Change
}

// Recreation returns how to recreate an object after a refusal. It is nil if the user does not want
// that, if the server does not say that a field is immutable, or if it would also refuse the
// manifest as a new object, so that deleting would gain nothing.
func (p Predictor) Recreation(ctx context.Context, server Server, in *Prediction, refusal error) *Recreation {
	if in.Live == nil || !apierrors.IsInvalid(refusal) || !p.recreates(in.Item) {
		return nil
	}
	if HoldsMore(in.Item.GVK.GroupKind()) || TakesVolumes(in.Live) {
		return nil
	}
	fields := immutableFields(in, Causes(refusal))
	if len(fields) == 0 {
		return nil
	}
	answer, err := p.anew(ctx, server, in)
	if err != nil {
		return nil
	}
	answer.SetName(in.Item.Name)
	return &Recreation{
		UID: in.Live.GetUID(), Reason: cannotChange(fields, in.Item.GVK.Kind), Answer: answer, Lost: p.lost(in.Live, answer),
	}
}

// lost returns what others own of an object, except its status, and another does not have.
func (p Predictor) lost(live, anew *unstructured.Unstructured) []managedfields.Change {
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil // Nothing can be said of who holds what.
	}
	others := slices.DeleteFunc(managedfields.Others(entries, p.Manager), func(e managedfields.Entry) bool { return e.Subresource != "" })
	gone := fieldpath.NewSet()
	for _, e := range others {
		fieldpath.Each(e.Fields, func(path fieldpath.Path) {
			if _, stays := path.Get(anew.Object); !stays {
				fieldpath.Insert(gone, path.Clone())
			}
		})
	}
	var lost []managedfields.Change
	fieldpath.Each(gone.Leaves(), func(path fieldpath.Path) {
		c := managedfields.Change{Path: path.Clone(), Kind: managedfields.Removed, Owners: managedfields.HoldersOf(others, path)}
		c.From, _ = path.Get(live.Object)
		lost = append(lost, c)
	})
	slices.SortFunc(lost, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	return lost
}

// recreates reports whether the user wants the item recreated if need be.
func (p Predictor) recreates(item plan.Item) bool {
	return item.Object.GetAnnotations()[RecreateAnnotation] == whenImmutable ||
		slices.ContainsFunc(p.Recreate, func(c Choice) bool { return c.Names(item.Ref, item.Kind) })
}

// checkRecreate returns an error if the item's annotation has an unknown value, or if the
// item must never be recreated.
func (p Predictor) checkRecreate(item plan.Item) error {
	value, annotated := item.Object.GetAnnotations()[RecreateAnnotation]
	switch {
	case annotated && value != whenImmutable:
		return fmt.Errorf("%s: %s: annotation %s must be %q, not %q", item.Source, item.Ref, RecreateAnnotation, whenImmutable, value)
	case !HoldsMore(item.GVK.GroupKind()) || !p.recreates(item):
		return nil
	}
	return object.Hinted("leave it out of --recreate, and remove the annotation "+RecreateAnnotation+" from it; if what it holds may go, delete it yourself",
		"%s: %s is never recreated: %w", item.Source, item.Ref, errHoldsMore)
}

var errHoldsMore = errors.New("deleting it would delete what it holds")

// HoldsMore reports whether deleting an object of the kind also deletes data, or other people's
// objects.
func HoldsMore(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	default:
		return false
	}
}

// TakesVolumes reports whether the claims of a StatefulSet, and their data, are deleted with it:
// its retention policy says so.
func TakesVolumes(live *unstructured.Unstructured) bool {
	if live.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		return false
	}
	whenDeleted, _, _ := unstructured.NestedString(live.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
	return whenDeleted == "Delete"
}
