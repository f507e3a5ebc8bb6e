package recorder_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// memory is a store with optimistic concurrency like the API server's.
type memory struct {
	mu      sync.Mutex
	records map[string]*ownership.Record // by namespace and name, as they come back from JSON
	version int
	writes  atomic.Int64
	log     []*ownership.Record // every version that was written
	more    chan struct{}       // closed when there is more in the log
}

func newMemory() *memory {
	return &memory{records: map[string]*ownership.Record{}, more: make(chan struct{})}
}

// handle is the access of one recorder to the store. It can simulate failures.
type handle struct {
	*memory
	// before is called before an operation, and after when it is done. If one of them returns an
	// error, the caller gets this error.
	before, after func(operation string) error
}

// misbehave sets a function that is called before each operation.
func (h *handle) misbehave(before func(operation string) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = before
}

func resource() schema.GroupResource {
	return schema.GroupResource{Group: ownership.RecordGroup, Resource: ownership.RecordPlural}
}

func (h *handle) do(ctx context.Context, operation string, f func() error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	h.mu.Lock()
	before := h.before
	h.mu.Unlock()
	if before != nil {
		if err := before(operation); err != nil {
			return err
		}
	}
	h.mu.Lock()
	err := f()
	h.mu.Unlock()
	if err == nil && h.after != nil {
		err = h.after(operation)
	}
	return err
}

func (h *handle) Get(ctx context.Context, namespace, name string) (*ownership.Record, error) {
	var r *ownership.Record
	err := h.do(ctx, "get", func() (err error) {
		r, err = h.read(namespace + "/" + name)
		return err
	})
	return r, err
}

func (h *handle) Create(ctx context.Context, r *ownership.Record) error {
	return h.do(ctx, "create", func() error {
		if _, ok := h.records[r.Namespace+"/"+r.Name]; ok {
			return apierrors.NewAlreadyExists(resource(), r.Name)
		}
		return h.write(r)
	})
}

func (h *handle) Update(ctx context.Context, r *ownership.Record) error {
	return h.do(ctx, "update", func() error {
		stored, err := h.read(r.Namespace + "/" + r.Name)
		if err != nil {
			return err
		}
		if stored.ResourceVersion != r.ResourceVersion {
			return apierrors.NewConflict(resource(), r.Name, nil)
		}
		return h.write(r)
	})
}

func (h *handle) List(ctx context.Context, each func(*ownership.Record) error) error {
	for _, r := range h.all() {
		if err := each(&r); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Watch reports what is written from now on.
func (h *handle) Watch(ctx context.Context, each func(*ownership.Record)) error {
	h.mu.Lock()
	from := len(h.log)
	h.mu.Unlock()
	for {
		h.mu.Lock()
		fresh, more := h.log[from:], h.more
		h.mu.Unlock()
		for _, r := range fresh {
			each(r.DeepCopy())
		}
		from += len(fresh)
		select {
		case <-ctx.Done():
			return nil
		case <-more:
		}
	}
}

func (m *memory) read(key string) (*ownership.Record, error) {
	r, ok := m.records[key]
	if !ok {
		return nil, apierrors.NewNotFound(resource(), key)
	}
	return r.DeepCopy(), nil
}

func (m *memory) write(r *ownership.Record) error {
	m.version++
	m.writes.Add(1)
	r.ResourceVersion = strconv.Itoa(m.version)
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	stored := new(ownership.Record)
	if err := json.Unmarshal(text, stored); err != nil {
		return err
	}
	m.records[r.Namespace+"/"+r.Name] = stored
	m.log = append(m.log, stored)
	close(m.more)
	m.more = make(chan struct{})
	return nil
}

// all returns the stored records, by name.
func (m *memory) all() []ownership.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []ownership.Record
	for _, key := range slices.Sorted(maps.Keys(m.records)) {
		r, err := m.read(key)
		if err != nil {
			panic(err)
		}
		out = append(out, *r)
	}
	return out
}
