package main

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

// plot is where one tool works on a sample.
type plot struct {
	lab       *lab
	sample    sample
	kinds     kinds
	namespace string // a fresh one, for -n; empty if the manifests name theirs
	version   int    // version of the manifests
}

func (l *lab) newPlot(ctx context.Context, s sample, user string) (*plot, error) {
	objects, err := s.objects(0)
	if err != nil {
		return nil, err
	}
	p := &plot{lab: l, sample: s, kinds: maps.Clone(l.kinds)}
	p.kinds.define(objects)
	if slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetNamespace() != "" }) {
		return p, nil
	}
	l.plots++
	p.namespace = fmt.Sprintf("bench-%d-%s", l.plots, user)
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": p.namespace},
	}}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	_, err = l.client.Resource(resource).Create(ctx, namespace, metav1.CreateOptions{})
	return p, err
}

// controlled reports whether controllers write the sample's objects, too.
func (p *plot) controlled() bool { return p.lab != nil && p.lab.controllers }

// name identifies an object on every plot.
type name struct{ kind, namespace, name string }

func nameOf(u *unstructured.Unstructured) name {
	return name{u.GroupVersionKind().GroupKind().String(), u.GetNamespace(), u.GetName()}
}

// collections returns the collections to read, with the objects that the manifests name
// in them, in the order of the manifests.
func (p *plot) collections() ([]collection, map[collection][]*unstructured.Unstructured, error) {
	objects, err := p.sample.objects(p.version)
	if err != nil {
		return nil, nil, err
	}
	var order []collection
	members := map[collection][]*unstructured.Unstructured{}
	for _, u := range objects {
		c, err := p.kinds.of(u, p.namespace)
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

// objects are a sample's, as they are on the server.
type objects = map[name]*unstructured.Unstructured

// versions are the resource versions of a sample's objects on the server.
type versions = map[name]string

// look reads the sample's objects.
func (p *plot) look(ctx context.Context) (objects, error) {
	found := objects{}
	err := p.each(func(c collection, wanted map[string]name) error {
		list, err := p.resource(c).List(ctx, metav1.ListOptions{})
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

// versions reads their resource versions only, which is cheap.
func (p *plot) versions(ctx context.Context) (versions, error) {
	found := versions{}
	err := p.each(func(c collection, wanted map[string]name) error {
		list, err := p.lab.metadata.Resource(c.resource).Namespace(c.namespace).List(ctx, metav1.ListOptions{})
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
func (p *plot) each(read func(c collection, wanted map[string]name) error) error {
	order, members, err := p.collections()
	if err != nil {
		return err
	}
	for _, c := range order {
		wanted := make(map[string]name, len(members[c]))
		for _, u := range members[c] {
			wanted[u.GetName()] = nameOf(u)
		}
		if err := read(c, wanted); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (p *plot) resource(c collection) dynamic.ResourceInterface {
	if c.namespace == "" {
		return p.lab.client.Resource(c.resource)
	}
	return p.lab.client.Resource(c.resource).Namespace(c.namespace)
}

// settle waits until what the API server does by itself is done: it takes some
// seconds to establish a definition, and writes that down.
func (p *plot) settle(ctx context.Context) error {
	objects, err := p.sample.objects(p.version)
	if err != nil {
		return err
	}
	for _, u := range objects {
		if u.GetKind() != definitionKind {
			continue
		}
		if err := p.established(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func (p *plot) established(ctx context.Context, definition *unstructured.Unstructured) error {
	c, err := p.kinds.of(definition, p.namespace)
	if err != nil {
		return err
	}
	const pause = 100 * time.Millisecond
	for {
		live, err := p.resource(c).Get(ctx, definition.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // which the check finds as well
		}
		if err != nil || isEstablished(live) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func isEstablished(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == "Established" && condition["status"] == "True"
	})
}

// clear deletes everything in the plot's namespace. Objects elsewhere go with the lab.
func (p *plot) clear(ctx context.Context) error {
	order, _, err := p.collections()
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	for _, c := range order {
		if c.namespace == "" || c.namespace != p.namespace {
			continue
		}
		options := metav1.DeleteOptions{PropagationPolicy: &background}
		if err := p.resource(c).DeleteCollection(ctx, options, metav1.ListOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("clear up: %w", err)
		}
	}
	return nil
}

func (n name) String() string { return fmt.Sprintf("%s %s/%s", n.kind, n.namespace, n.name) }
