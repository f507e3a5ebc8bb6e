package webhook

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

const recordPage = 500

// Store stores records in the cluster, without a cache. Its errors wrap those of the API server.
type Store struct {
	client client.WithWatch
}

// NewStore returns the store for a cluster.
func NewStore(config *rest.Config) (*Store, error) {
	scheme := runtime.NewScheme()
	if err := ownership.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("set up the store of records: %w", err)
	}
	gvk := ownership.RecordGVK()
	gvr := gvk.GroupVersion().WithResource(ownership.RecordPlural)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{gvk.GroupVersion()})
	mapper.AddSpecific(gvk, gvr, gvr, meta.RESTScopeNamespace)
	// This mapper saves the client from having to ask the API server for the kinds.
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("set up the store of records: %w", err)
	}
	return &Store{client: c}, nil
}

// Get returns the record with the given name.
func (s *Store) Get(ctx context.Context, namespace, name string) (*ownership.Record, error) {
	r := &ownership.Record{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, r); err != nil {
		return nil, fmt.Errorf("read record %s/%s: %w", namespace, name, err)
	}
	return r, nil
}

// Create creates a record, and copies to r the fields that the API server sets.
func (s *Store) Create(ctx context.Context, r *ownership.Record) error {
	if err := s.client.Create(ctx, r); err != nil {
		return fmt.Errorf("create record %s/%s: %w", r.Namespace, r.Name, err)
	}
	return nil
}

// Update writes a record. It returns a conflict if the stored resource version differs from that of
// r.
func (s *Store) Update(ctx context.Context, r *ownership.Record) error {
	err := errors.New("it has no resource version") // Without one, the API server would overwrite any version.
	if r.ResourceVersion != "" {
		err = s.client.Update(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("update record %s/%s: %w", r.Namespace, r.Name, err)
	}
	return nil
}

// List passes every record in the cluster to the callback. It stops at the first error.
func (s *Store) List(ctx context.Context, each func(*ownership.Record) error) error {
	token := ""
	for {
		page := &ownership.RecordList{}
		if err := s.client.List(ctx, page, client.Limit(recordPage), client.Continue(token)); err != nil {
			return fmt.Errorf("list records: %w", err)
		}
		for i := range page.Items {
			if err := each(&page.Items[i]); err != nil {
				return err
			}
		}
		if token = page.Continue; token == "" {
			return nil
		}
	}
}

// Watch calls the callback for every record that is written from now on, until the watch ends.
func (s *Store) Watch(ctx context.Context, each func(*ownership.Record)) error {
	now := &ownership.RecordList{}
	if err := s.client.List(ctx, now, client.Limit(1)); err != nil {
		return fmt.Errorf("watch records: %w", err)
	}
	w, err := s.client.Watch(ctx, &ownership.RecordList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: now.ResourceVersion}})
	if err != nil {
		return fmt.Errorf("watch records: %w", err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		switch r, ok := e.Object.(*ownership.Record); {
		case e.Type == watch.Error:
			return fmt.Errorf("watch records: %w", apierrors.FromObject(e.Object))
		case ok && (e.Type == watch.Added || e.Type == watch.Modified):
			each(r)
		}
	}
	return nil
}
