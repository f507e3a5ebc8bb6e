package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// recordPage is how many records are read at once.
const recordPage = 500

// Store keeps records in the cluster. What it reads is what the API server has:
// nothing is cached. Its errors are those of the API server, to be told apart by
// their reason.
type Store struct {
	client client.Client
}

// NewStore returns the store of a cluster.
func NewStore(config *rest.Config) (*Store, error) {
	gvk := ownership.RecordGVK()
	gvr := gvk.GroupVersion().WithResource(ownership.RecordPlural)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{gvk.GroupVersion()})
	mapper.AddSpecific(gvk, gvr, gvr, meta.RESTScopeNamespace)
	// With one kind, there is nothing to ask the API server first.
	c, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("set up the store of records: %w", err)
	}
	return &Store{client: c}, nil
}

// Get returns the record of a name.
func (s *Store) Get(ctx context.Context, namespace, name string) (*ownership.Record, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(ownership.RecordGVK())
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		return nil, fmt.Errorf("read record %s/%s: %w", namespace, name, err)
	}
	return recordOf(u)
}

// Create writes a record that is not there yet, and completes r by what the API
// server sets.
func (s *Store) Create(ctx context.Context, r *ownership.Record) error {
	return s.write(r, "create", func(u *unstructured.Unstructured) error { return s.client.Create(ctx, u) })
}

// Update writes a record over the version that r was read at: if there is another
// one by now, it is a conflict.
func (s *Store) Update(ctx context.Context, r *ownership.Record) error {
	if r.ResourceVersion == "" { // The API server takes this for "whatever is there".
		return fmt.Errorf("update record %s/%s: it has no resource version", r.Namespace, r.Name)
	}
	return s.write(r, "update", func(u *unstructured.Unstructured) error { return s.client.Update(ctx, u) })
}

// List calls each for every record of the cluster, until one fails.
func (s *Store) List(ctx context.Context, each func(*ownership.Record) error) error {
	token := ""
	for {
		page := &unstructured.UnstructuredList{}
		gvk := ownership.RecordGVK()
		page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := s.client.List(ctx, page, client.Limit(recordPage), client.Continue(token)); err != nil {
			return fmt.Errorf("list records: %w", err)
		}
		for i := range page.Items {
			r, err := recordOf(&page.Items[i])
			if err != nil {
				return err
			}
			if err := each(r); err != nil {
				return err
			}
		}
		if token = page.GetContinue(); token == "" {
			return nil
		}
	}
}

func (s *Store) write(r *ownership.Record, verb string, do func(*unstructured.Unstructured) error) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil {
		return fmt.Errorf("%s record %s/%s: %w", verb, r.Namespace, r.Name, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(ownership.RecordGVK())
	if err := do(u); err != nil {
		return fmt.Errorf("%s record %s/%s: %w", verb, r.Namespace, r.Name, err)
	}
	written, err := recordOf(u)
	if err == nil {
		*r = *written
	}
	return err
}

func recordOf(u *unstructured.Unstructured) (*ownership.Record, error) {
	r := &ownership.Record{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, r); err != nil {
		return nil, fmt.Errorf("record %s/%s: %w", u.GetNamespace(), u.GetName(), err)
	}
	return r, nil
}
