package restore

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// owners holds the owners to restore once the values are back.
type owners struct {
	manager string
	// ours is what we owned before, entry with which entry.
	ours  *fieldpath.Set
	entry managedfields.Entry
	// others get back what the run took from them.
	others []managedfields.Entry
	// none: the object had no managed fields, so the server has since attributed all of it to a
	// manager of its own.
	none bool
}

// Owners returns the managed fields that return every owner what it held before the run, unless
// another manager has taken it since. answer is the object after the Body was applied. No fields
// mean that they are right as they are. It also returns paths that cannot be returned.
func (s Step) Owners(answer *unstructured.Unstructured) (fields []any, unreturned []event.Unreturned, err error) {
	if s.Do != Apply {
		return nil, nil, nil
	}
	entries, err := managedfields.Entries(answer)
	if err != nil {
		return nil, nil, err
	}
	var next []managedfields.Entry
	if !s.back.ours.Empty() {
		ours := s.back.entry
		if now, there := managedfields.AppliedBy(entries, s.back.manager); there {
			ours.Time = now.Time
		}
		ours.Fields = s.back.ours
		next = append(next, ours)
	}
	given := make([]bool, len(s.back.others))
	for _, e := range managedfields.Others(entries, s.back.manager) {
		if s.back.none && e.Manager == managedfields.BeforeFirstApply {
			continue
		}
		for i, back := range s.back.others {
			if !e.SameEntry(back.Owner) {
				continue
			}
			given[i] = true
			if e.APIVersion == back.APIVersion {
				e.Fields = e.Fields.Union(back.Fields)
			} else if paths := pathsOf(back.Fields.Difference(e.Fields)); len(paths) > 0 { // Paths of two versions cannot be combined.
				unreturned = append(unreturned, event.Unreturned{Manager: e.Manager, Paths: paths})
			}
		}
		next = append(next, e)
	}
	for i, back := range s.back.others {
		if !given[i] {
			next = append(next, back)
		}
	}
	if same(entries, next) {
		return nil, unreturned, nil
	}
	if len(next) == 0 {
		return []any{map[string]any{}}, unreturned, nil // This form clears them.
	}
	fields, err = managedfields.Encode(next)
	return fields, unreturned, err
}

// pathsOf lists the paths of a set, sorted.
func pathsOf(set *fieldpath.Set) []fieldpath.Path {
	var paths []fieldpath.Path
	fieldpath.Each(set, func(p fieldpath.Path) { paths = append(paths, p.Clone()) })
	slices.SortFunc(paths, fieldpath.Path.Compare)
	return paths
}

// same reports whether two lists of entries are equal.
func same(a, b []managedfields.Entry) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(e managedfields.Entry) bool {
		return !slices.ContainsFunc(b, func(other managedfields.Entry) bool {
			return other.Equal(e.Owner) && other.Fields.Equals(e.Fields)
		})
	})
}

// contents visits what is deleted with an object.
type contents func(ctx context.Context, live *unstructured.Unstructured, visit func(*unstructured.Unstructured)) error

// hold returns why an object that the run created stays: others have put something into it, which
// would go with it. It is empty if they have not.
func (c contents) hold(ctx context.Context, live *unstructured.Unstructured) string {
	if c == nil {
		return ""
	}
	var others []object.Ref
	err := c(ctx, live, func(u *unstructured.Unstructured) {
		if isOfOthers(u) {
			others = append(others, object.RefOf(u))
		}
	})
	switch {
	case len(others) == 0 && err != nil:
		return fmt.Sprintf("whether others have put something into it is unknown: %v", err)
	case len(others) == 0:
		return ""
	}
	slices.SortFunc(others, object.Ref.Compare)
	more := ""
	if n := len(slices.Compact(others)) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("it holds %s%s, which would go with it", others[0], more)
}

// isOfOthers reports whether another client made the object for itself: not if it is being deleted,
// is deleted with another object, or is in every namespace.
func isOfOthers(u *unstructured.Unstructured) bool {
	if u.GetDeletionTimestamp() != nil || len(u.GetOwnerReferences()) > 0 {
		return false
	}
	gvk := u.GroupVersionKind()
	switch gvk.GroupKind().String() {
	case "Lease.coordination.k8s.io", "Endpoints":
		return false // A client that needs one makes it again.
	case "ConfigMap":
		return u.GetName() != "kube-root-ca.crt"
	case "ServiceAccount":
		return u.GetName() != "default"
	case "Secret":
		return u.GetAnnotations()["kubernetes.io/service-account.name"] == "" // An account's token.
	}
	return true
}
