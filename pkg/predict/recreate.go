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
// user allows the recreation.
type Recreation struct {
	UID    types.UID
	Reason string
	// Answer is the server's response to a dry run that submits the manifest as a new object.
	Answer *unstructured.Unstructured
	Lost   []managedfields.Change
}

// Recreation returns the way to recreate an object that the server refused to change. It returns
// nil if the user does not allow that, if the server does not report a field as immutable, if
// deleting the object would also delete its contents, or if the server would also refuse the
// manifest as a new object.
func (p Predictor) Recreation(ctx context.Context, server Server, in *Prediction, refusal error) *Recreation {
	if in.Live == nil || !apierrors.IsInvalid(refusal) || !p.recreates(in.Item) {
		return nil
	}
	if HoldsMore(in.Item.GVK.GroupKind()) || TakesVolumes(in.Live) {
		return nil
	}
	fields, known := refusedChanges(in, Causes(refusal))
	if len(fields) == 0 {
		return nil
	}
	answer, err := p.asNew(ctx, server, in, known)
	if err != nil {
		return nil
	}
	answer.SetName(in.Item.Name)
	return &Recreation{
		UID: in.Live.GetUID(), Reason: cannotChange(fields, in.Item.GVK.Kind), Answer: answer, Lost: p.lostChanges(in, answer),
	}
}

// lostChanges returns the values of other owners that the new object lacks, or in whose place it has another
// value, such as a default. The replicas that an autoscaler set belong to the subresource scale.
func (p Predictor) lostChanges(in *Prediction, anew *unstructured.Unstructured) []managedfields.Change {
	entries, err := in.Entries(in.Live)
	if err != nil {
		return nil // The owners are unknown.
	}
	others := slices.DeleteFunc(managedfields.Others(entries, p.Manager), func(e managedfields.Entry) bool { return e.Subresource != "" && e.Subresource != "scale" })
	gone, replaced := fieldpath.NewSet(), fieldpath.NewSet()
	for _, e := range others {
		fieldpath.Each(e.Fields, func(path fieldpath.Path) {
			if _, stays := path.Get(anew.Object); !stays {
				fieldpath.Insert(gone, path.Clone())
			}
		})
		fieldpath.Each(e.Fields.Leaves(), func(path fieldpath.Path) {
			was, _ := path.Get(in.Live.Object)
			if value, stays := path.Get(anew.Object); stays && !fieldpath.Equal(was, value) {
				fieldpath.Insert(replaced, path.Clone())
			}
		})
	}
	var lost []managedfields.Change
	fieldpath.Each(gone.Leaves().Union(replaced), func(path fieldpath.Path) {
		c := managedfields.Change{Path: path.Clone(), Kind: managedfields.Removed, Owners: managedfields.HoldersOf(others, path)}
		c.From, _ = path.Get(in.Live.Object)
		lost = append(lost, c)
	})
	slices.SortFunc(lost, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	return lost
}

func (p Predictor) recreates(item plan.Item) bool {
	return item.Object.GetAnnotations()[RecreateAnnotation] == whenImmutable ||
		slices.ContainsFunc(p.Recreate, func(c Choice) bool { return c.Names(item.Ref, item.Kind) })
}

func (p Predictor) checkRecreate(item plan.Item) error {
	value, annotated := item.Object.GetAnnotations()[RecreateAnnotation]
	switch {
	case annotated && value != whenImmutable:
		return fmt.Errorf("%s: %s: annotation %s must be %q, not %q", item.Source, item.Ref, RecreateAnnotation, whenImmutable, value)
	case !HoldsMore(item.GVK.GroupKind()) || !p.recreates(item):
		return nil
	}
	return object.Hinted("leave it out of --recreate, and remove its annotation "+RecreateAnnotation+"; if you do not need its contents, delete it yourself",
		"%s: %s is never recreated: %w", item.Source, item.Ref, errHoldsMore)
}

var errHoldsMore = errors.New("deleting the object would delete its contents")

// HoldsMore reports whether deleting an object of the kind also deletes data or other objects that
// it contains.
func HoldsMore(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	default:
		return false
	}
}

// TakesVolumes reports whether deleting a StatefulSet also deletes its volume claims and their
// data, because of its retention policy.
func TakesVolumes(live *unstructured.Unstructured) bool {
	if live.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		return false
	}
	whenDeleted, _, _ := unstructured.NestedString(live.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
	return whenDeleted == "Delete"
}
