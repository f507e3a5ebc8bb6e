// Package store finds and writes sets in the cluster: parents and members of KEP-3659.
package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Server is the part of the API client that this package needs.
type Server interface {
	object.Applier
	object.Deleter
	object.LiveReader
	// Resource finds a kind by its TYPE, as kubectl does. Preferred returns a kind at its preferred
	// version.
	Resource(ctx context.Context, text string) (object.Kind, error)
	Preferred(ctx context.Context, gk schema.GroupKind) (object.Kind, error)
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	Metadata(ctx context.Context, kind object.Kind, sel object.Selection, visit func(*unstructured.Unstructured)) error
	// Contents visits the metadata of the objects that would be deleted with a namespace or a CRD.
	Contents(ctx context.Context, live *unstructured.Unstructured, visit func(*unstructured.Unstructured)) error
}

// Set is a set in the cluster.
type Set struct {
	Server Server
	Kind   object.Kind
	Record applyset.Record
	// Live is the live parent if Exists is set.
	Exists bool
	Live   *unstructured.Unstructured
	// Unserved lists the kinds in the promise that were not served when the members were listed.
	Unserved []schema.GroupKind
}

// Find finds a set by NAME or KIND[.GROUP]/NAME in a namespace. If the set does not exist, Exists
// is false.
func Find(ctx context.Context, server Server, name, namespace string) (*Set, error) {
	typ, name, err := applyset.ParseName(name)
	if err != nil {
		return nil, err
	}
	s := &Set{Server: server}
	if typ == "" {
		s.Kind, err = server.Kind(ctx, applyset.ParentKind())
	} else {
		s.Kind, err = server.Resource(ctx, typ)
	}
	if err != nil {
		return nil, err
	}
	ref := object.Ref{GVK: s.Kind.GVK, Name: name}
	if s.Kind.Namespaced {
		ref.Namespace = namespace
	}
	s.Record.Parent = ref
	s.Forget()
	if err := s.mayBeParent(ctx); err != nil {
		return nil, err
	}
	live, err := server.Get(ctx, s.Kind, ref)
	switch {
	case apierrors.IsNotFound(err):
		return s, nil
	case apierrors.IsForbidden(err):
		return nil, object.Hinted("a set requires the verb get on its parent; docs/rbac.md lists all permissions",
			"the set %s cannot be read: %w", ref, err)
	case err != nil:
		return nil, err
	}
	return s, s.Load(ctx, live)
}

// Load takes over the live parent. The error is from the server, which resolves the parent's kinds.
func (s *Set) Load(ctx context.Context, live *unstructured.Unstructured) error {
	s.Exists, s.Live, s.Record = true, live, applyset.Read(live)
	var kinds []schema.GroupKind
	for _, gr := range s.Record.Resources {
		kind, err := s.Server.Resource(ctx, gr.String())
		if IsUnserved(err) {
			continue
		}
		if err != nil {
			return err
		}
		kinds = append(kinds, kind.GVK.GroupKind())
	}
	s.Record = s.Record.Resolve(kinds)
	return nil
}

// mayBeParent returns an error if objects of the kind cannot be parents of sets.
func (s *Set) mayBeParent(ctx context.Context) error {
	if applyset.MayBeParent(s.Kind.GVK.GroupKind()) {
		return nil
	}
	no := object.Hinted("use a Secret, a ConfigMap or a custom resource whose CRD has the label "+applyset.ParentTypeLabel,
		"%s cannot be the parent of a set", s.Kind.GVK.GroupKind())
	if s.Kind.GVK.Group == "" {
		return no
	}
	crd, err := s.Server.Preferred(ctx, schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"})
	if err != nil {
		return err
	}
	definition, err := s.Server.Get(ctx, crd, object.Ref{GVK: crd.GVK, Name: s.Kind.GVR().GroupResource().String()})
	if apierrors.IsNotFound(err) {
		return no
	}
	if err != nil {
		return fmt.Errorf("cannot check whether %s can be the parent of a set: %w", s.Kind.GVK.GroupKind(), err)
	}
	if _, allowed := definition.GetLabels()[applyset.ParentTypeLabel]; !allowed {
		return no
	}
	return nil
}

// ID returns the ID of the set.
func (s *Set) ID() string { return applyset.ID(s.Record.Parent) }

// Name returns the name of the set, such as secret/shop.
func (s *Set) Name() string { return s.Record.Parent.Resource() }

// listing limits the number of concurrent LIST requests.
const listing = 16

// Members lists the members in the kinds and namespaces of the promise. A kind that is no longer
// served has no members. If it is unclear whether a kind is served, Members returns an error.
func (s *Set) Members(ctx context.Context) ([]applyset.Member, error) {
	var (
		mu    sync.Mutex
		found = map[object.Key]applyset.Member{}
		group errgroup.Group
	)
	group.SetLimit(listing)
	s.Unserved = nil
	for _, gk := range s.Record.Promise.Kinds {
		group.Go(func() error {
			kind, err := s.Server.Preferred(ctx, gk)
			if IsUnserved(err) {
				mu.Lock()
				defer mu.Unlock()
				s.Unserved = append(s.Unserved, gk)
				return nil
			}
			if err == nil && !slices.Contains(kind.Verbs, "list") {
				return nil
			}
			if err != nil {
				return err
			}
			err = s.list(ctx, kind, func(u *unstructured.Unstructured) {
				m := applyset.MemberOf(kind, u)
				mu.Lock()
				defer mu.Unlock()
				found[m.Ref.Key()] = m
			})
			if IsUnserved(err) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("members of %s: %w", s.Record.Parent, err)
	}
	slices.SortFunc(s.Unserved, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	return slices.SortedFunc(maps.Values(found), func(a, b applyset.Member) int { return a.Ref.Compare(b.Ref) }), nil
}

func (s *Set) list(ctx context.Context, kind object.Kind, visit func(*unstructured.Unstructured)) error {
	sel := object.Selection{Labels: applyset.Selector(s.ID())}
	namespaces := s.Record.Promise.Namespaces
	if !kind.Namespaced {
		return s.Server.Metadata(ctx, kind, sel, visit)
	}
	if len(namespaces) > 1 {
		err := s.Server.Metadata(ctx, kind, sel, func(u *unstructured.Unstructured) {
			if slices.Contains(namespaces, u.GetNamespace()) {
				visit(u) // A copy in another namespace is not a member.
			}
		})
		if !apierrors.IsForbidden(err) {
			return err
		}
	}
	for _, sel.Namespace = range namespaces {
		err := s.Server.Metadata(ctx, kind, sel, visit)
		if apierrors.IsForbidden(err) {
			err = s.denied(ctx, sel.Namespace, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// denied handles a refused LIST. It returns nil if the namespace does not exist, because its
// permissions were deleted with it.
func (s *Set) denied(ctx context.Context, namespace string, refusal error) error {
	kind, err := s.Server.Kind(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil {
		return err
	}
	there := namespace == s.Record.Parent.Namespace // The parent was read in this namespace.
	if !there {
		_, err = s.Server.Get(ctx, kind, object.Ref{GVK: kind.GVK, Name: namespace})
		if apierrors.IsNotFound(err) {
			return nil
		}
		there = err == nil
	}
	advice := "the members of a set are found by listing its kinds, which needs the verb list in namespace " + namespace + ": see docs/rbac.md"
	if !there {
		advice = fmt.Sprintf("if the namespace %s no longer exists, remove it from the annotation %s of %s; otherwise use an account that may list the members in it",
			namespace, applyset.NamespacesAnnotation, s.Record.Parent)
	}
	return &object.HintedError{Err: refusal, Advice: advice}
}

// Blind returns a sentence about members that cannot be listed; empty if there are none. It omits
// kinds that the run may install.
func (s *Set) Blind(input applyset.Promise) string {
	var names []string
	for _, gk := range s.Unserved {
		if !slices.Contains(input.Kinds, gk) {
			names = append(names, gk.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("lists %s among the kinds of its members (annotation %s), but the server does not serve them: remaining members of those kinds cannot be found",
		strings.Join(names, ", "), applyset.KindsAnnotation)
}

// IsUnserved reports whether an error proves that a kind is not served.
func IsUnserved(err error) bool {
	if err == nil || !meta.IsNoMatchError(err) {
		return false
	}
	doubtful, ok := err.(interface{ Unwrap() error }) // The outermost error decides.
	return !ok || doubtful.Unwrap() == nil
}

// Forget makes s a set that does not exist yet.
func (s *Set) Forget() {
	s.Exists, s.Live, s.Record = false, nil, applyset.Record{Parent: s.Record.Parent}
	if namespace := s.Record.Parent.Namespace; namespace != "" {
		s.Record.Promise.Namespaces = []string{namespace}
	}
}

// Reload reads the parent again.
func (s *Set) Reload(ctx context.Context) error {
	live, err := s.Server.Get(ctx, s.Kind, s.Record.Parent)
	if err != nil {
		return err
	}
	return s.Load(ctx, live)
}

// Write writes the parent with a promise. It returns a conflict error if the parent has changed
// since it was read, because some tools write the parent without taking a lock.
func (s *Set) Write(ctx context.Context, p applyset.Promise, dryRun bool) error {
	body, err := applyset.Render(s.Record, p)
	if err != nil {
		return err
	}
	how := object.Write{Manager: applyset.Manager, Force: true, DryRun: dryRun, Create: !s.Exists}
	if s.Exists {
		body.SetResourceVersion(s.Live.GetResourceVersion())
	}
	live, err := s.Server.Apply(ctx, s.Kind, body, how)
	if err != nil || dryRun {
		return err
	}
	return s.Load(ctx, live)
}
