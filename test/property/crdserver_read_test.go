package property_test

import (
	"context"
	"errors"
	"time"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Schema returns the kind's structural schema.
func (s *Server) Schema() *structuralschema.Structural { return s.versions["v1"].schema }

// Published returns the schema in the form that an API server publishes.
func (s *Server) Published() *spec.Schema { return s.versions["v1"].schema.ToKubeOpenAPI() }

// Get reads one object.
func (s *Server) Get(_ context.Context, _ object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.objects[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]
	if u == nil {
		return nil, apierrors.NewNotFound(s.kind("v1").GVR().GroupResource(), ref.Name)
	}
	return s.at(u, ref.GVK.Version), nil
}

// Live reads many objects.
func (s *Server) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	for i, ref := range refs {
		live, err := s.Get(ctx, kind, ref)
		if apierrors.IsNotFound(err) {
			live, err = nil, nil
		}
		visit(i, live, err)
	}
}

// Kind returns the kind if it is served.
func (s *Server) Kind(_ context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	if _, ok := s.versions[gvk.Version]; !ok || gvk.Kind != s.definition.Spec.Names.Kind {
		return object.Kind{}, errors.New("no such kind")
	}
	return s.kind(gvk.Version), nil
}

// Served returns the kind without waiting.
func (s *Server) Served(ctx context.Context, gvk schema.GroupVersionKind, _ time.Duration) (object.Kind, error) {
	return s.Kind(ctx, gvk)
}

// Established treats every definition as established.
func (s *Server) Established(context.Context, string) error { return nil }

// Unserved returns the error of Kind.
func (s *Server) Unserved(ctx context.Context, gvk schema.GroupVersionKind) error {
	_, err := s.Kind(ctx, gvk)
	return err
}

// ExplainRefusal returns err: there are no webhooks.
func (s *Server) ExplainRefusal(_ context.Context, _ object.Kind, err error) error { return err }

// Permitted allows everything.
func (s *Server) Permitted(context.Context, object.Kind, object.Ref, string) (bool, error) {
	return true, nil
}
