// Package clientgo implements [diagnose.Reader] with client-go, so that diagnose does not depend on
// a client. It never changes the cluster. Start with [New].
package clientgo

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/pager"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Reader is a [diagnose.Reader].
type Reader struct {
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterfaceWithContext
	access    authorizationclient.AuthorizationV1Interface
	mapper    meta.RESTMapper
}

var _ diagnose.Reader = (*Reader)(nil)

// New returns a reader for a cluster. It sends no request.
func New(config *rest.Config) (*Reader, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	var r Reader
	if r.dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if r.metadata, err = metadata.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if r.access, err = authorizationclient.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	r.discovery = found
	r.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	return &r, nil
}

// Get implements [diagnose.Reader].
func (r *Reader) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	mapping, err := r.mapping(gvk)
	if err != nil {
		return nil, err
	}
	live, err := r.dynamic.Resource(mapping.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// Exists implements [diagnose.Reader].
func (r *Reader) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	mapping, err := r.mapping(ref.GVK)
	if err != nil {
		return false, err
	}
	_, err = r.metadata.Resource(mapping.Resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Select implements [diagnose.Reader].
func (r *Reader) Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, selector string, visit func(*unstructured.Unstructured)) error {
	mapping, err := r.mapping(gvk)
	if err != nil {
		return err
	}
	list := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return r.dynamic.Resource(mapping.Resource).Namespace(sel.Namespace).List(ctx, opts)
	}
	return pager.New(list).EachListItem(ctx, options(sel, selector), func(item runtime.Object) error {
		if u, ok := item.(*unstructured.Unstructured); ok {
			visit(u)
		}
		return nil
	})
}

// Metadata implements [diagnose.Reader].
func (r *Reader) Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	mapping, err := r.mapping(gvk)
	if err != nil {
		return nil, err
	}
	list := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return r.metadata.Resource(mapping.Resource).Namespace(sel.Namespace).List(ctx, opts)
	}
	var found []unstructured.Unstructured
	err = pager.New(list).EachListItem(ctx, options(sel, ""), func(item runtime.Object) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
		found = append(found, unstructured.Unstructured{Object: content})
		return err
	})
	return found, err
}

func options(sel object.Selection, selector string) metav1.ListOptions {
	var all []string
	for _, part := range []string{sel.Fields, selector} {
		if part != "" {
			all = append(all, part)
		}
	}
	if sel.Name != "" {
		all = append(all, fields.OneTermEqualSelector(metav1.ObjectNameField, sel.Name).String())
	}
	return metav1.ListOptions{LabelSelector: sel.Labels, FieldSelector: strings.Join(all, ",")}
}

// Kinds implements [diagnose.Reader].
func (r *Reader) Kinds(ctx context.Context) ([]object.Kind, error) {
	lists, err := r.discovery.ServerPreferredResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	var kinds []object.Kind
	for _, list := range lists {
		for _, served := range list.APIResources {
			if slices.Contains(served.Verbs, "list") {
				kinds = append(kinds, object.Kind{
					GVK:      schema.FromAPIVersionAndKind(list.GroupVersion, served.Kind),
					Resource: served.Name, ShortNames: served.ShortNames, Namespaced: served.Namespaced, Verbs: served.Verbs,
				})
			}
		}
	}
	return kinds, nil
}

// DryRunRemoveFinalizer implements [diagnose.Reader].
func (r *Reader) DryRunRemoveFinalizer(ctx context.Context, ref object.Ref, live *unstructured.Unstructured, finalizer string) error {
	mapping, err := r.mapping(ref.GVK)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(live.GetFinalizers()), func(f string) bool { return f == finalizer })
	patch, err := json.Marshal([]map[string]any{
		{"op": "add", "path": "/metadata/finalizers", "value": left},
		{"op": "replace", "path": "/metadata/uid", "value": live.GetUID()},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return err
	}
	_, err = r.dynamic.Resource(mapping.Resource).Namespace(ref.Namespace).Patch(ctx, ref.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// Allowed implements [diagnose.Reader].
func (r *Reader) Allowed(ctx context.Context, user, verb string, ref object.Ref) (bool, error) {
	mapping, err := r.mapping(ref.GVK)
	if err != nil {
		return false, err
	}
	on := &authorizationv1.ResourceAttributes{
		Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource,
		Namespace: ref.Namespace, Name: ref.Name, Verb: verb,
	}
	if user == "" {
		answer, err := r.access.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: on},
		}, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed, err
	}
	groups := []string{"system:authenticated"}
	if namespace, _, err := serviceaccount.SplitUsername(user); err == nil {
		groups = append(groups, serviceaccount.MakeGroupNames(namespace)...)
	}
	answer, err := r.access.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups, ResourceAttributes: on},
	}, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed, err
}

func (r *Reader) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	return r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}
