package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Must is like Find, but returns an error if the set does not exist.
func Must(ctx context.Context, server Server, name, namespace string) (*Set, error) {
	s, err := Find(ctx, server, name, namespace)
	switch {
	case err != nil:
		return nil, err
	case !s.Exists:
		return nil, &AbsentError{Parent: s.Record.Parent}
	case s.Record.ID != s.ID():
		return nil, object.Hinted("see: "+command.Kubectl("k8sconnect", "sets")+" -A",
			"%s is not a set", s.Record.Parent)
	}
	return s, nil
}

// AbsentError means that a set does not exist.
type AbsentError struct{ Parent object.Ref }

func (e *AbsentError) Error() string { return "there is no set " + e.Parent.String() }

func (e *AbsentError) Hint() string {
	see := command.Kubectl("k8sconnect", "sets") + " -A shows all sets"
	if e.Parent.Name == "list" || e.Parent.Name == "ls" {
		return command.Kubectl("k8sconnect", "sets") + " lists the sets of a namespace; " + see
	}
	if e.Parent.Namespace == "" {
		return see
	}
	return "if it is in another namespace, add -n; " + see
}

// All lists the sets in a namespace, or all sets. If some kinds of parents could not be listed, it
// returns the other sets together with an error.
func All(ctx context.Context, server Server, namespace string) ([]*Set, error) {
	kinds, err := parents(ctx, server)
	faults := []error{err}
	var all []*Set
	for _, kind := range kinds {
		sel := object.Selection{Namespace: namespace, Labels: applyset.IDLabel}
		if !kind.Namespaced {
			if namespace != "" {
				continue
			}
			sel.Namespace = ""
		}
		var found []*unstructured.Unstructured
		err := server.Metadata(ctx, kind, sel, func(u *unstructured.Unstructured) { found = append(found, u) })
		if err != nil && !IsUnserved(err) {
			err = fmt.Errorf("sets whose parent is a %s: %w", kind.GVK.GroupKind(), err)
			switch {
			case !apierrors.IsForbidden(err):
			case namespace == "" && kind.Namespaced:
				err = &object.HintedError{Err: err, Advice: "list the sets in a namespace that you may read: " + command.Kubectl("k8sconnect", "sets") + " -n NAMESPACE"}
			case kind.Namespaced:
				err = &object.HintedError{Err: err, Advice: "listing sets needs the verb list on secrets and configmaps: see docs/rbac.md"}
			}
			faults = append(faults, err)
		}
		for _, u := range found {
			u.SetGroupVersionKind(kind.GVK)
			s := &Set{Server: server, Kind: kind}
			if err := s.Load(ctx, u); err != nil {
				faults = append(faults, err)
				continue
			}
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *Set) int { return a.Record.Parent.Compare(b.Record.Parent) })
	return slices.CompactFunc(all, func(a, b *Set) bool { return a.Record.Parent == b.Record.Parent }), errors.Join(faults...)
}

// parents returns the kinds whose objects can be parents. If the user is not allowed to list CRDs,
// it returns only Secret and ConfigMap.
func parents(ctx context.Context, server Server) ([]object.Kind, error) {
	var kinds []object.Kind
	for _, name := range []string{"Secret", "ConfigMap"} {
		kind, err := server.Kind(ctx, schema.GroupVersionKind{Version: "v1", Kind: name})
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	crd, err := server.Preferred(ctx, schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"})
	if err != nil {
		return kinds, err
	}
	var types []string
	err = server.Metadata(ctx, crd, object.Selection{Labels: applyset.ParentTypeLabel}, func(u *unstructured.Unstructured) {
		types = append(types, u.GetName())
	})
	if apierrors.IsForbidden(err) {
		return kinds, nil
	}
	faults := []error{err}
	for _, name := range types { // RESOURCE.GROUP
		kind, err := server.Resource(ctx, name)
		if IsUnserved(err) {
			continue
		}
		faults = append(faults, err)
		if err == nil {
			kinds = append(kinds, kind)
		}
	}
	return kinds, errors.Join(faults...)
}

// FindByID returns the parent of the set with an ID; zero if it is not found. Without permission to list all
// namespaces, it searches only the members' namespaces.
func FindByID(ctx context.Context, server Server, id string, members []object.Ref) (parent object.Ref) {
	kinds, _ := parents(ctx, server)
	for _, kind := range kinds {
		sel := object.Selection{Labels: applyset.IDLabel + "=" + id}
		visit := func(u *unstructured.Unstructured) {
			ref := object.RefOf(u)
			ref.GVK = kind.GVK // Objects in a metadata list have the kind PartialObjectMetadata.
			if applyset.ID(ref) == id {
				parent = ref
			}
		}
		err := server.Metadata(ctx, kind, sel, visit)
		if apierrors.IsForbidden(err) && kind.Namespaced {
			for _, sel.Namespace = range namespacesOf(members) {
				_ = server.Metadata(ctx, kind, sel, visit)
			}
		}
		if parent.Name != "" {
			return parent
		}
	}
	return parent
}

func namespacesOf(refs []object.Ref) []string {
	var all []string
	for _, ref := range refs {
		if ref.Namespace != "" {
			all = append(all, ref.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Spelled returns the name of the parent's set as a user in the parent's namespace would write it.
func Spelled(parent object.Ref) string {
	return strings.TrimPrefix(parent.Resource(), strings.ToLower(applyset.ParentKind().Kind)+"/")
}
