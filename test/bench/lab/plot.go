package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Plot is where one tool works on a sample.
type Plot struct {
	Lab       *Lab
	Sample    Sample
	Kinds     Kinds
	Namespace string // a fresh one, for -n; empty if the manifests name theirs
	Version   int    // version of the manifests
}

// NewPlot returns a namespace of its own for a sample.
func (l *Lab) NewPlot(ctx context.Context, s Sample, user string) (*Plot, error) {
	objects, err := s.Objects(0)
	if err != nil {
		return nil, err
	}
	p := &Plot{Lab: l, Sample: s, Kinds: maps.Clone(l.kinds)}
	p.Kinds.Define(objects)
	if slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetNamespace() != "" }) {
		return p, nil
	}
	l.plots++
	p.Namespace = fmt.Sprintf("bench-%d-%s", l.plots, user)
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": p.Namespace},
	}}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	_, err = l.Client.Resource(resource).Create(ctx, namespace, metav1.CreateOptions{})
	return p, err
}

// Controlled reports whether controllers write the sample's objects, too.
func (p *Plot) Controlled() bool { return p.Lab != nil && p.Lab.Controllers }

// Name identifies an object on every plot.
type Name struct{ Kind, Namespace, Name string }

// NameOf returns the name of an object.
func NameOf(u *unstructured.Unstructured) Name {
	return Name{u.GroupVersionKind().GroupKind().String(), u.GetNamespace(), u.GetName()}
}

// Collections returns the collections to read, with the objects that the manifests name
// in them, in the order of the manifests.
func (p *Plot) Collections() ([]collection, map[collection][]*unstructured.Unstructured, error) {
	objects, err := p.Sample.Objects(p.Version)
	if err != nil {
		return nil, nil, err
	}
	var order []collection
	members := map[collection][]*unstructured.Unstructured{}
	for _, u := range objects {
		c, err := p.Kinds.of(u, p.Namespace)
		if err != nil {
			return nil, nil, err
		}
		if members[c] == nil {
			order = append(order, c)
		}
		members[c] = append(members[c], u)
	}
	return order, members, nil
}

// Objects are a sample's, as they are on the server.
type Objects = map[Name]*unstructured.Unstructured

// Versions are the resource versions of a sample's objects on the server.
type Versions = map[Name]string

// Look reads the sample's objects.
func (p *Plot) Look(ctx context.Context) (Objects, error) {
	found := Objects{}
	err := p.each(func(c collection, wanted map[string]Name) error {
		list, err := p.Resource(c).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if name, ok := wanted[list.Items[i].GetName()]; ok {
				found[name] = &list.Items[i]
			}
		}
		return nil
	})
	return found, err
}

// Versions reads their resource versions only, which is cheap.
func (p *Plot) Versions(ctx context.Context) (Versions, error) {
	found := Versions{}
	err := p.each(func(c collection, wanted map[string]Name) error {
		list, err := p.Lab.metadata.Resource(c.resource).Namespace(c.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			if name, ok := wanted[item.Name]; ok {
				found[name] = item.ResourceVersion
			}
		}
		return nil
	})
	return found, err
}

// each calls read for each collection that is served, with the names that the
// sample's objects have there.
func (p *Plot) each(read func(c collection, wanted map[string]Name) error) error {
	order, members, err := p.Collections()
	if err != nil {
		return err
	}
	for _, c := range order {
		wanted := make(map[string]Name, len(members[c]))
		for _, u := range members[c] {
			wanted[u.GetName()] = NameOf(u)
		}
		if err := read(c, wanted); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// Resource is where the objects of a collection are written.
func (p *Plot) Resource(c collection) dynamic.ResourceInterface {
	if c.Namespace == "" {
		return p.Lab.Client.Resource(c.resource)
	}
	return p.Lab.Client.Resource(c.resource).Namespace(c.Namespace)
}

// Settle waits until what the API server does by itself is done: it takes some
// seconds to establish a definition, and writes that down.
func (p *Plot) Settle(ctx context.Context) error {
	objects, err := p.Sample.Objects(p.Version)
	if err != nil {
		return err
	}
	for _, u := range objects {
		if u.GetKind() != DefinitionKind {
			continue
		}
		if err := p.established(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plot) established(ctx context.Context, definition *unstructured.Unstructured) error {
	c, err := p.Kinds.of(definition, p.Namespace)
	if err != nil {
		return err
	}
	const pause = 100 * time.Millisecond
	for {
		live, err := p.Resource(c).Get(ctx, definition.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // which the check finds as well
		}
		if err != nil || IsEstablished(live) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// IsEstablished reports whether a definition is served.
func IsEstablished(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == "Established" && condition["status"] == "True"
	})
}

// Clear deletes everything in the plot's namespace. Objects elsewhere go with the lab.
func (p *Plot) Clear(ctx context.Context) error {
	order, _, err := p.Collections()
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	for _, c := range order {
		if c.Namespace == "" || c.Namespace != p.Namespace {
			continue
		}
		options := metav1.DeleteOptions{PropagationPolicy: &background}
		if err := p.Resource(c).DeleteCollection(ctx, options, metav1.ListOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("clear up: %w", err)
		}
	}
	return nil
}

func (n Name) String() string { return fmt.Sprintf("%s %s/%s", n.Kind, n.Namespace, n.Name) }
