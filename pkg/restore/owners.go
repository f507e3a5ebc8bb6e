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

type owners struct {
	manager string
	ours    *fieldpath.Set
	entry   managedfields.Entry
	// others contains the entries to which the taken fields are returned.
	others []managedfields.Entry
	// none means that the object had no managed fields. The server has since assigned all fields to
	// [managedfields.BeforeFirstApply].
	none bool
}

// Owners returns the managed fields with the former owners restored, except for fields that another
// manager has taken since. answer is the object after Body was applied. If fields is nil, the
// owners are already correct.
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
			} else if paths := pathsOf(back.Fields.Difference(e.Fields)); len(paths) > 0 { // Paths in different API versions cannot be combined.
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
		return []any{}, unreturned, nil
	}
	fields, err = managedfields.Encode(next)
	return fields, unreturned, err
}

func pathsOf(set *fieldpath.Set) []fieldpath.Path {
	var paths []fieldpath.Path
	fieldpath.Each(set, func(p fieldpath.Path) { paths = append(paths, p.Clone()) })
	slices.SortFunc(paths, fieldpath.Path.Compare)
	return paths
}

func same(a, b []managedfields.Entry) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(e managedfields.Entry) bool {
		return !slices.ContainsFunc(b, func(other managedfields.Entry) bool {
			return other.Equal(e.Owner) && other.Fields.Equals(e.Fields)
		})
	})
}

// holds returns the reason to keep a created object: it contains, or may contain, objects that
// belong to others and would be deleted with it. If there is no reason, holds returns "".
func (e *Engine) holds(ctx context.Context, live *unstructured.Unstructured) string {
	if e.Contents == nil {
		return ""
	}
	var others []object.Ref
	err := e.Contents(ctx, live, func(u *unstructured.Unstructured) {
		if isOfOthers(u) {
			others = append(others, object.RefOf(u))
		}
	})
	switch {
	case len(others) == 0 && err != nil:
		return fmt.Sprintf("cannot tell whether it contains objects that belong to others: %v", err)
	case len(others) == 0:
		return ""
	}
	slices.SortFunc(others, object.Ref.Compare)
	return "it contains " + andMore(others[0], len(slices.Compact(others))-1) + ", which would be deleted with it"
}

func andMore(first fmt.Stringer, more int) string {
	if more == 0 {
		return first.String()
	}
	return fmt.Sprintf("%s and %d more", first, more)
}

// isOfOthers reports whether an object belongs to others. It returns false for objects that are
// deleted anyway, or that are recreated automatically.
func isOfOthers(u *unstructured.Unstructured) bool {
	if u.GetDeletionTimestamp() != nil || len(u.GetOwnerReferences()) > 0 {
		return false
	}
	gvk := u.GroupVersionKind()
	switch gvk.GroupKind().String() {
	case "Lease.coordination.k8s.io", "Endpoints":
		return false
	case "ConfigMap":
		return u.GetName() != "kube-root-ca.crt"
	case "ServiceAccount":
		return u.GetName() != "default"
	case "Secret":
		return u.GetAnnotations()["kubernetes.io/service-account.name"] == "" // not a service account's token
	}
	return true
}
