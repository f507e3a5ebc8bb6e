package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// plot is a sample on a lab, for one tool.
type plot struct {
	lab       *lab
	sample    sample
	now       manifests // applied last
	mapper    meta.RESTMapper
	namespace string // a new one, for -n; empty if the manifests set theirs
}

// newPlot returns a plot for a sample, with a new namespace if the manifests set none.
func (l *lab) newPlot(ctx context.Context, s sample, user string) (*plot, error) {
	p := &plot{lab: l, sample: s, now: s.whole, mapper: mapper(l.mapper, s.whole.objects)}
	if slices.ContainsFunc(s.whole.objects, func(u *unstructured.Unstructured) bool { return u.GetNamespace() != "" }) {
		return p, nil
	}
	l.plots++
	p.namespace = fmt.Sprintf("bench-%d-%s", l.plots, user)
	return p, l.cluster.CreateNamespace(ctx, p.namespace)
}

// name identifies an object on all plots.
type name struct{ kind, namespace, name string }

func nameOf(u *unstructured.Unstructured) name {
	return name{u.GroupVersionKind().GroupKind().String(), u.GetNamespace(), u.GetName()}
}

func (n name) String() string { return fmt.Sprintf("%s %s/%s", n.kind, n.namespace, n.name) }

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

// collections returns the collections of the sample's objects, in the order of the
// manifests, and the objects of each.
func (p *plot) collections() (order []collection, members map[collection][]*unstructured.Unstructured, err error) {
	members = map[collection][]*unstructured.Unstructured{}
	all := p.sample.whole.objects
	if len(p.now.objects) == len(all) {
		all = p.now.objects // changed objects, not a pruned set: pruned objects count, too
	}
	for _, u := range all {
		c, err := p.collectionOf(u)
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

// state is a live object: its resource version, and its canonical content.
type state struct{ version, content string }

// read reads the sample's objects, page by page.
func (p *plot) read(ctx context.Context) (map[name]state, error) {
	order, members, err := p.collections()
	if err != nil {
		return nil, err
	}
	found := map[name]state{}
	for _, c := range order {
		wanted := make(map[string]name, len(members[c]))
		for _, u := range members[c] {
			wanted[u.GetName()] = nameOf(u)
		}
		for options := (metav1.ListOptions{Limit: 5000}); ; {
			list, err := p.resource(c).List(ctx, options)
			if apierrors.IsNotFound(err) {
				break // The kind is not served.
			} else if err != nil {
				return nil, err
			}
			for i := range list.Items {
				u := &list.Items[i]
				if name, ok := wanted[u.GetName()]; ok {
					found[name] = state{u.GetResourceVersion(), canonical(u)}
				}
			}
			if options.Continue = list.GetContinue(); options.Continue == "" {
				break
			}
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
	order, members, err := p.collections()
	if err != nil {
		return err
	}
	for _, c := range order {
		for _, u := range members[c] {
			for u.GetKind() == definitionKind {
				live, err := p.resource(c).Get(ctx, u.GetName(), metav1.GetOptions{})
				if apierrors.IsNotFound(err) || err == nil && isEstablished(live) {
					break
				}
				if err != nil {
					return err
				}
				time.Sleep(pause)
			}
		}
	}
	return nil
}

// isEstablished reports whether a definition is served.
func isEstablished(definition *unstructured.Unstructured) bool {
	return object.ConditionOf(definition, "Established").Status == "True"
}

// clear deletes everything in the plot's namespace. Other objects are removed with the lab.
func (p *plot) clear(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	order, _, err := p.collections()
	if err != nil {
		return err
	}
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

// mapper maps the kinds that the API server serves, and those that the objects define.
func mapper(served meta.RESTMapper, objects []*unstructured.Unstructured) meta.RESTMapper {
	defined := meta.NewDefaultRESTMapper(nil)
	for _, u := range objects {
		var crd apiextensionsv1.CustomResourceDefinition
		if u.GetKind() != definitionKind || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &crd) != nil {
			continue
		}
		scope := meta.RESTScopeRoot
		if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
			scope = meta.RESTScopeNamespace
		}
		for _, version := range crd.Spec.Versions {
			gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
			plural := gv.WithResource(crd.Spec.Names.Plural)
			defined.AddSpecific(gv.WithKind(crd.Spec.Names.Kind), plural, plural, scope)
		}
	}
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{defined, served}}
}

// collectionOf returns the collection that an object belongs to.
func (p *plot) collectionOf(u *unstructured.Unstructured) (collection, error) {
	gvk := u.GroupVersionKind()
	m, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case err != nil:
		return collection{}, err
	case m.Scope.Name() == meta.RESTScopeNameRoot:
		return collection{resource: m.Resource}, nil
	case u.GetNamespace() != "":
		return collection{m.Resource, u.GetNamespace()}, nil
	}
	return collection{m.Resource, p.namespace}, nil
}
