package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Once reads without trying again: for whoever asks what is wrong with a cluster,
// an answer that does not come is an answer. The server's warnings are not told.
// What the server does not serve is an error for which [meta.IsNoMatchError] is
// true; that nobody answers for a kind is none of these.
type Once struct {
	client *Client

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]object.Kind
}

// Once returns a reader that tries each request once.
func (c *Client) Once() *Once {
	return &Once{client: c, kinds: map[schema.GroupVersionKind]object.Kind{}}
}

// Get reads one object; nil, nil if it does not exist.
func (o *Once) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	kind, err := o.kind(ctx, gvk)
	if err != nil {
		return nil, err
	}
	ref := object.Ref{GVK: gvk, Namespace: namespace, Name: name}
	live, err := o.object(ctx, kind, ref, func() *rest.Request {
		return o.client.rest.Get().AbsPath(resourcePath(kind, namespace, name)...)
	})
	switch {
	case unserved(statusOf(err)):
		return nil, noneOf(kind)
	case apierrors.IsNotFound(err):
		return nil, nil
	}
	return live, err
}

// Exists reports whether an object is there. Nothing of what it holds is sent.
func (o *Once) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	kind, err := o.kind(ctx, ref.GVK)
	if err != nil {
		return false, err
	}
	err = o.do(ctx, ref, func(ctx context.Context) error {
		_, err := read(ctx, o.client.existence(kind, ref))
		return err
	})
	switch {
	case unserved(statusOf(err)):
		return false, noneOf(kind)
	case apierrors.IsNotFound(err):
		return false, nil
	}
	return err == nil, err
}

// Select is [Client.Select], trying each request once.
func (o *Once) Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	kind, err := o.kind(ctx, gvk)
	if err != nil {
		return err
	}
	err = o.client.visit(ctx, kind, sel, fields, visit, func(ctx context.Context, send func(context.Context) error) error {
		return o.do(ctx, object.Ref{GVK: gvk, Namespace: sel.Namespace}, send)
	})
	if unserved(statusOf(err)) {
		return noneOf(kind)
	}
	return err
}

// Metadata returns nothing but the metadata of the selected objects.
func (o *Once) Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	kind, err := o.kind(ctx, gvk)
	if err != nil {
		return nil, err
	}
	w := &watching{client: o.client, kind: kind, sel: sel}
	var items []unstructured.Unstructured
	p := &pager{
		kind: kind, size: usualPage, anyTime: true,
		build: func() *rest.Request { return w.collection().SetHeader("Accept", metadataAlone) },
		do: func(ctx context.Context, send func(context.Context) error) error {
			return o.do(ctx, object.Ref{GVK: gvk, Namespace: sel.Namespace}, send)
		},
		begin: func() { items = nil },
		item: func(text []byte) error {
			u, err := decodeItem(text, kind, w.namespace())
			if err == nil {
				items = append(items, *u)
			}
			return err
		},
	}
	_, err = p.read(ctx)
	if unserved(statusOf(err)) {
		return nil, noneOf(kind)
	}
	return items, err
}

// Kinds returns the kinds that the server serves and that can be listed, each at
// one version. Those of an API whose server is away are missing. The server is
// asked: what a cache does not know yet may be what is in the way.
func (o *Once) Kinds(ctx context.Context) ([]object.Kind, error) {
	kinds, err := o.client.listable(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, kind := range kinds {
		o.kinds[kind.GVK] = kind
	}
	return kinds, err
}

// DryRunRemoveFinalizer replays the removal of one finalizer, as a dry run, and
// returns why it was refused.
func (o *Once) DryRunRemoveFinalizer(ctx context.Context, ref object.Ref, live *unstructured.Unstructured, finalizer string) error {
	kind, err := o.kind(ctx, ref.GVK)
	if err != nil {
		return err
	}
	_, err = o.object(ctx, kind, ref, func() *rest.Request {
		return o.client.removal(kind, live, finalizer).Param("dryRun", metav1.DryRunAll)
	})
	return err
}

// Allowed asks whether a user may do what verb says with the object; with an empty
// user, whether we may.
func (o *Once) Allowed(ctx context.Context, user, verb string, ref object.Ref) (bool, error) {
	kind, err := o.kind(ctx, ref.GVK)
	if err != nil {
		return false, err
	}
	attributes := authorizationv1.ResourceAttributes{
		Group: kind.GVK.Group, Version: kind.GVK.Version, Resource: kind.Resource,
		Namespace: ref.Namespace, Name: ref.Name, Verb: verb,
	}
	review := authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: groupsOf(user), ResourceAttributes: &attributes,
		},
	}
	path := "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	if user == "" {
		review.Kind, review.Spec.Groups = "SelfSubjectAccessReview", nil
		path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	}
	question, err := json.Marshal(review)
	if err != nil {
		return false, err
	}
	allowed := false
	err = o.do(ctx, ref, func(ctx context.Context) error {
		answer, err := read(ctx, o.client.rest.Post().AbsPath(path).Body(question))
		if err == nil {
			allowed, err = reviewed(answer, review.Kind)
		}
		return err
	})
	return allowed, err
}

// groupsOf returns the groups that the API server gives a user by its name: those
// of service accounts.
func groupsOf(user string) []string {
	const accounts = "system:serviceaccount:"
	groups := []string{"system:authenticated"}
	if account, ok := strings.CutPrefix(user, accounts); ok {
		namespace, _, _ := strings.Cut(account, ":")
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	return groups
}

// kind finds how a kind is served. That its server does not answer does not mean
// that there is no such kind.
func (o *Once) kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	o.mu.Lock()
	kind, known := o.kinds[gvk]
	o.mu.Unlock()
	if known {
		return kind, nil
	}
	kind, err := o.client.Kind(ctx, gvk)
	if missing, ok := errors.AsType[*NoKindError](err); ok && missing.Err != nil {
		return kind, &noAnswerError{missing.Err}
	}
	return kind, err
}

// object sends a request once that is answered by one object.
func (o *Once) object(ctx context.Context, kind object.Kind, ref object.Ref, build func() *rest.Request) (*unstructured.Unstructured, error) {
	var live *unstructured.Unstructured
	err := o.do(ctx, ref, func(ctx context.Context) error {
		body, err := read(ctx, build())
		if err == nil {
			live, err = decode(body, kind, ref)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return live, nil
}

// do sends a request once.
func (o *Once) do(ctx context.Context, ref object.Ref, send func(context.Context) error) error {
	r := request{ref: ref, quiet: true, bulk: true}
	_, _, err := o.client.try(ctx, r, send)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case classify(err, r) == lost:
		return &noAnswerError{causeOf(err)}
	default:
		return explain(err)
	}
}

// listable returns the kinds that the server serves now, and that can be listed. A
// cache from before may lack a definition that is new, and with it what hangs.
func (c *Client) listable(ctx context.Context) ([]object.Kind, error) {
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	var kinds []object.Kind
	err := c.look(ctx, "", func(t catalogue) error {
		kinds = t.listable()
		return nil
	})
	return kinds, err
}

// listable returns the kinds that can be listed, each at the version that its group
// prefers, or else at one that has it.
func (t catalogue) listable() []object.Kind {
	var kinds []object.Kind
	for _, group := range t.groups {
		versions := []string{group.Group.PreferredVersion.Version}
		for _, v := range group.Group.Versions {
			versions = append(versions, v.Version)
		}
		seen := map[string]bool{}
		for _, version := range versions {
			for _, r := range group.VersionedResources[version] {
				if seen[r.Name] || strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
					continue
				}
				seen[r.Name] = true
				gvk := schema.GroupVersionKind{Group: group.Group.Name, Version: version, Kind: r.Kind}
				kinds = append(kinds, object.Kind{GVK: gvk, Resource: r.Name, Namespaced: r.Namespaced, Verbs: r.Verbs})
			}
		}
	}
	return kinds
}
