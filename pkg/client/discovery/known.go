package discovery

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// known is what a run has learnt about how the server serves kinds.
type known struct {
	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]object.Kind
	// young kinds were not served when the run began.
	young map[schema.GroupVersionKind]bool
	// terse kinds are served, but their servers say of an object that is not there
	// only that something is not.
	terse map[schema.GroupVersionKind]bool
	// refused kinds have a definition that the server does not accept.
	refused map[schema.GroupVersionKind]*NotEstablishedError

	// asking is a lock: the goroutine that can send to it asks discovery, so that a cold
	// cache is filled once and not by every goroutine that finds it cold.
	asking chan struct{}
	// renewed: the cache was out of date, and has been refilled. It is for who holds the lock,
	// as is what follows.
	renewed bool
	// read is when the server's kinds were last read because a type was not found.
	read time.Time
}

func newKnown() *known {
	return &known{
		kinds:   map[schema.GroupVersionKind]object.Kind{},
		young:   map[schema.GroupVersionKind]bool{},
		terse:   map[schema.GroupVersionKind]bool{},
		refused: map[schema.GroupVersionKind]*NotEstablishedError{},
		asking:  make(chan struct{}, 1),
	}
}

func (k *known) get(gvk schema.GroupVersionKind) (object.Kind, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kind, ok := k.kinds[gvk]
	return kind, ok
}

func (k *known) put(kind object.Kind, young bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kinds[kind.GVK] = kind
	if young {
		k.young[kind.GVK] = true
	}
}

// forget records that the server no longer serves the kind.
func (k *known) forget(gvk schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kinds, gvk)
}

func (k *known) isNewlyServed(gvk schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.young[gvk]
}

func (k *known) isTerse(gvk schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.terse[gvk]
}

func (k *known) setTerse(gvk schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.terse[gvk] = true
}

func (k *known) refusedOf(gvk schema.GroupVersionKind) *NotEstablishedError {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.refused[gvk]
}

func (k *known) setRefused(gvk schema.GroupVersionKind, why *NotEstablishedError) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refused[gvk] = why
}

// lock makes the caller the only one to ask discovery, until unlock is called.
func (k *known) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case k.asking <- struct{}{}:
		return func() { <-k.asking }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
