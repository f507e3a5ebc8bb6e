package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// dump is a [diagnose.Reader] of the output of kubectl get -o yaml. A kind without objects was not
// dumped and is an error, so that unknown is not taken for absent.
type dump []unstructured.Unstructured

var _ diagnose.Reader = dump{}

var errDump = errors.New("a dump answers no requests")

func (d dump) named(kind, namespace, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(d, func(u unstructured.Unstructured) bool {
		return u.GetKind() == kind && u.GetNamespace() == namespace && u.GetName() == name
	})
	if i < 0 {
		return nil
	}
	return &d[i]
}

func (d dump) find(ref object.Ref) *unstructured.Unstructured {
	for i := range d {
		if object.RefOf(&d[i]).Key() == ref.Key() {
			return &d[i]
		}
	}
	return nil
}

// holds returns an error unless the kind was dumped.
func (d dump) holds(gvk schema.GroupVersionKind) error {
	if slices.ContainsFunc(d, func(u unstructured.Unstructured) bool { return u.GroupVersionKind() == gvk }) {
		return nil
	}
	return fmt.Errorf("the dump holds no %s", gvk.Kind)
}

func (d dump) Get(_ context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	return d.find(object.Ref{GVK: gvk, Namespace: namespace, Name: name}), d.holds(gvk)
}

func (d dump) Exists(_ context.Context, ref object.Ref) (bool, error) {
	return d.find(ref) != nil, d.holds(ref.GVK)
}

func (d dump) Select(_ context.Context, gvk schema.GroupVersionKind, sel object.Selection, _ string, visit func(*unstructured.Unstructured)) error {
	selector, err := labels.Parse(sel.Labels)
	if err != nil {
		return err
	}
	for i := range d {
		u := &d[i]
		if u.GroupVersionKind() == gvk && (sel.Namespace == "" || sel.Namespace == u.GetNamespace()) &&
			(sel.Name == "" || sel.Name == u.GetName()) && selector.Matches(labels.Set(u.GetLabels())) {
			visit(u)
		}
	}
	return d.holds(gvk)
}

func (d dump) Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	err := d.Select(ctx, gvk, sel, "", func(u *unstructured.Unstructured) { found = append(found, *u) })
	return found, err
}

func (d dump) Kinds(context.Context) ([]object.Kind, error) { return nil, errDump }

func (d dump) DryRunRemoveFinalizer(context.Context, object.Ref, *unstructured.Unstructured, string) error {
	return errDump
}

func (d dump) Allowed(context.Context, string, string, object.Ref) (bool, error) {
	return false, errDump
}
