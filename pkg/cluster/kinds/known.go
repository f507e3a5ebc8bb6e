package kinds

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

	// awaited is how many kinds are waited for; came: one of those, or more, came to be served.
	awaited int
	came    bool
	// renewing: the cache is being refilled because kinds came to be served; stale: others
	// did since that began.
	renewing, stale bool
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

// await records that a kind is waited for.
func (k *known) await() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.awaited++
}

// awaitedNoMore records that a kind came to be served, or is waited for no longer. It reports
// whether it was the last, and any of them came.
func (k *known) awaitedNoMore(came bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.awaited--
	k.came = k.came || came
	if k.awaited > 0 || !k.came {
		return false
	}
	k.came = false
	return true
}

// startRenewing reports whether the caller is to refill the cache. If it is being
// refilled already, that is done once more.
func (k *known) startRenewing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.renewing {
		k.stale = true
		return false
	}
	k.renewing = true
	return true
}

// renewAgain reports whether kinds came to be served while the cache was refilled; if not,
// the refilling is over.
func (k *known) renewAgain() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewing, k.stale = k.stale, false
	return k.renewing
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
