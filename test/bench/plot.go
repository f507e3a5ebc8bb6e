package main

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	ordering "github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// plot is a sample on a lab, for one tool.
type plot struct {
	lab       *lab
	sample    sample
	now       []string // the flags of the manifests that were applied last
	namespace string   // a new one, for -n; empty if the manifests set theirs
}

// reviewed is the file with the plan that is confirmed.
func (p *plot) reviewed() string { return filepath.Join(p.lab.dir, "plan.json") }

// newPlot returns a plot for a sample, with a new namespace if the manifests set none.
func (l *lab) newPlot(ctx context.Context, s sample, user string) (*plot, error) {
	p := &plot{lab: l, sample: s, now: s.whole}
	if slices.ContainsFunc(s.objects, func(u *unstructured.Unstructured) bool { return u.GetNamespace() != "" }) {
		return p, nil
	}
	l.plots++
	p.namespace = fmt.Sprintf("bench-%d-%s", l.plots, user)
	return p, l.cluster.CreateNamespace(ctx, p.namespace)
}

// collection identifies all objects of a resource in a namespace, which is empty for cluster-scoped
// objects.
type collection struct {
	resource  schema.GroupVersionResource
	namespace string
}

// path is the collection's URL.
func (c collection) path() string {
	base := path.Join("/apis", c.resource.Group, c.resource.Version)
	if c.resource.Group == "" {
		base = path.Join("/api", c.resource.Version)
	}
	if c.namespace != "" {
		base = path.Join(base, "namespaces", c.namespace)
	}
	return path.Join(base, c.resource.Resource)
}

// collectionOf returns the collection that an object belongs to. All samples have regular plurals.
func (p *plot) collectionOf(item ordering.Item) collection {
	resource, _ := meta.UnsafeGuessKindToResource(item.GVK)
	c := collection{resource, item.Namespace}
	if item.Namespace != "" && p.namespace != "" {
		c.namespace = p.namespace
	}
	return c
}

// collections returns the collections of the sample's objects, in the plugin's order, and the
// objects of each.
func (p *plot) collections() (order []collection, members map[collection][]ordering.Item) {
	members = map[collection][]ordering.Item{}
	for item := range p.sample.plan.Items() {
		c := p.collectionOf(item)
		if members[c] == nil {
			order = append(order, c)
		}
		members[c] = append(members[c], item)
	}
	return order, members
}

// state is a live object: its resource version, and its canonical content.
type state struct{ version, content string }

// read reads the sample's objects, page by page.
func (p *plot) read(ctx context.Context) (map[object.Ref]state, error) {
	order, members := p.collections()
	found := map[object.Ref]state{}
	for _, c := range order {
		wanted := make(map[string]object.Ref, len(members[c]))
		for _, item := range members[c] {
			wanted[item.Name] = item.Ref
		}
		page := func(options metav1.ListOptions) (runtime.Object, error) { return p.resource(c).List(ctx, options) }
		err := pager.New(pager.SimplePageFunc(page)).EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
			u := item.(*unstructured.Unstructured)
			if ref, ok := wanted[u.GetName()]; ok {
				found[ref] = state{u.GetResourceVersion(), canonical(u)}
			}
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) { // or the kind is not served
			return nil, err
		}
	}
	return found, nil
}

// resource is where the objects of a collection are written.
func (p *plot) resource(c collection) dynamic.ResourceInterface {
	if c.namespace == "" {
		return p.lab.client.Resource(c.resource)
	}
	return p.lab.client.Resource(c.resource).Namespace(c.namespace)
}

// settle waits until the API server has established all definitions, which takes seconds and writes
// their status. A definition that is missing is left to the check.
func (p *plot) settle(ctx context.Context) error {
	const pause = 100 * time.Millisecond
	for item := range p.sample.plan.Items() {
		for item.GVK.Kind == definitionKind {
			live, err := p.resource(p.collectionOf(item)).Get(ctx, item.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) || err == nil && isEstablished(live) {
				break
			}
			if err != nil {
				return err
			}
			time.Sleep(pause)
		}
	}
	return nil
}

func isEstablished(definition *unstructured.Unstructured) bool {
	return object.ConditionOf(definition, "Established").Status == "True"
}

// clear deletes everything in the plot's namespace. Other objects are removed with the lab.
func (p *plot) clear(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	order, _ := p.collections()
	for _, c := range order {
		if c.namespace == "" || c.namespace != p.namespace {
			continue
		}
		err := p.resource(c).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("clear up: %w", err)
		}
	}
	return nil
}

// definitionKind is the kind of CRDs.
const definitionKind = "CustomResourceDefinition"
