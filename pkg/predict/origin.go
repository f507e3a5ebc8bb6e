package predict

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// rebound returns the item with those bound fields of its origin that are valid for the live
// object, and lists the other ones. All are valid if the live object is the origin. Otherwise, a
// field is valid if an earlier apply has set it to the same value.
func (p Predictor) rebound(item plan.Item, live *unstructured.Unstructured) (plan.Item, []object.BoundField) {
	origin := item.Origin
	switch {
	case origin == nil:
		return item, nil
	case live == nil:
		return item, origin.Bound
	}
	isOrigin := origin.UID != "" && live.GetUID() == origin.UID
	entries, err := managedfields.Entries(live)
	if err != nil {
		entries = nil // Evaluate reports the error.
	}
	applied := func(path fieldpath.Path) bool {
		return slices.ContainsFunc(entries, func(e managedfields.Entry) bool {
			return (e.Is(p.Manager) || e.Manager == managedfields.ClientSideApply) && fieldpath.Touches(e.Fields, path)
		})
	}
	var unbound []object.BoundField
	var whole *unstructured.Unstructured
	for _, field := range origin.Bound {
		value, _, _ := unstructured.NestedFieldNoCopy(origin.Object, field.Field...)
		has, _, _ := unstructured.NestedFieldNoCopy(live.Object, field.Field...)
		if !isOrigin && (!applied(fieldpath.Field(field.Field...)) || !within(value, has)) {
			unbound = append(unbound, field)
			continue
		}
		if whole == nil {
			whole = item.Object.DeepCopy()
		}
		now, _, _ := unstructured.NestedFieldNoCopy(whole.Object, field.Field...)
		_ = unstructured.SetNestedField(whole.Object, joinedWith(now, value), field.Field...) // The parent is a map.
	}
	if whole != nil {
		item.Object = whole
	}
	return item, unbound
}

// joinedWith adds the missing fields of a value. Lists and scalars are replaced.
func joinedWith(now, value any) any {
	m, ok := now.(map[string]any)
	all, both := value.(map[string]any)
	if !ok || !both {
		return value
	}
	for name, v := range all {
		if below, has := m[name]; !has || fieldpath.IsContainer(below) {
			m[name] = joinedWith(below, v)
		}
	}
	return m
}

// UnboundText returns the text and the details of the warning about [Prediction].Unbound; "" if
// there is none.
func (in *Prediction) UnboundText() (text, detail string) {
	var names, places []string
	for _, field := range in.Unbound {
		if !slices.Contains(names, field.Name) {
			names = append(names, field.Name)
			places = append(places, field.Source.String())
		}
	}
	if len(names) == 0 {
		return "", ""
	}
	return "left out, because only the object that was copied may have it: " + strings.Join(names, ", "),
		" (" + strings.Join(slices.Compact(places), ", ") + ")"
}

// Owners looks up the owners of objects.
type Owners interface {
	Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error)
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
}

// Orphaned returns an error if none of the owners in the manifest exists, because the garbage
// collector would then delete the object. It reads nothing if the live object has such an owner
// already, or if the manifest has no owners. An owner that cannot be read counts as existing.
//
// The rules are those of the garbage collector: the owner of a namespaced object is cluster-scoped
// or in the same namespace, and must have the given UID.
// https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents
func (p Predictor) Orphaned(ctx context.Context, server Owners, in *Prediction) error {
	owners := in.Body.GetOwnerReferences()
	if len(owners) == 0 {
		return nil
	}
	var had []metav1.OwnerReference
	if in.Live != nil {
		had = in.Live.GetOwnerReferences()
	}
	var missing []string
	for _, owner := range owners {
		if slices.ContainsFunc(had, func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
			return nil
		}
		ref := object.Ref{GVK: schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), Name: owner.Name}
		kind, err := server.Kind(ctx, ref.GVK)
		if err != nil || kind.Namespaced && !in.Item.Kind.Namespaced {
			return nil // The garbage collector deletes nothing if it cannot resolve an owner.
		}
		if kind.Namespaced {
			ref.Namespace = in.Item.Namespace
		}
		switch found, err := server.Get(ctx, kind, ref); {
		case apierrors.IsNotFound(err):
			missing = append(missing, ref.String()+" does not exist")
		case err != nil || found.GetUID() == owner.UID:
			return nil
		default:
			missing = append(missing, fmt.Sprintf("%s has the uid %s, not %s", ref, found.GetUID(), owner.UID))
		}
	}
	at := in.Item.Source
	if p.Locate != nil {
		at, _ = p.Locate(at, []any{"metadata", "ownerReferences"})
	}
	owner := "its owner"
	if len(missing) > 1 {
		owner = "each of its owners"
	}
	return object.Hinted("remove metadata.ownerReferences ("+at.String()+"); owners must be in the namespace of the object, or have none",
		"the garbage collector would delete it at once, because %s is missing: %s", owner, strings.Join(missing, ", "))
}
