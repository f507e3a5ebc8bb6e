package watchset

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Across is a [Watcher] that serves the views of one kind in many namespaces with one watch across all
// namespaces. Call Expect before the views are followed. Views that were not expected, views that select
// by fields or by other labels than the first view of the kind, and all views of a kind that must not be
// watched across namespaces have watches of their own.
type Across struct {
	Watcher
	// Worth reports whether one watch across all namespaces is less work than n watches; nil means
	// that it never is.
	Worth func(ctx context.Context, kind object.Kind, n int) bool

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]*sharing
}

// joinWithin is how long a shared watch waits for the rest of its views, which are followed at the same
// time.
const joinWithin = 100 * time.Millisecond

// Expect announces n views of a kind. It must not be called while such views are followed.
func (a *Across) Expect(kind schema.GroupVersionKind, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kinds == nil {
		a.kinds = map[schema.GroupVersionKind]*sharing{}
	}
	a.kinds[kind] = &sharing{expected: n, complete: make(chan struct{}), ended: make(chan struct{}), idle: make(chan struct{})}
}

// Watch implements [Watcher].
func (a *Across) Watch(ctx context.Context, kind object.Kind, sel object.Selection, report func(object.Change)) error {
	m := &member{name: sel.Name, report: report}
	s, first := a.join(kind, sel, m)
	if s == nil {
		return a.Watcher.Watch(ctx, kind, sel, report)
	}
	if first {
		go a.share(context.WithoutCancel(ctx), s, kind)
	}
	select {
	case <-ctx.Done():
		s.leave(m)
		return context.Cause(ctx)
	case <-s.ended:
	}
	s.leave(m)
	if s.refused {
		return a.Watcher.Watch(ctx, kind, sel, report)
	}
	return s.err
}

// join adds a view to the shared watch of its kind, and reports whether it is the first. It returns nil
// if there is no such watch, or if it has already begun.
func (a *Across) join(kind object.Kind, sel object.Selection, m *member) (s *sharing, first bool) {
	a.mu.Lock()
	s = a.kinds[kind.GVK]
	a.mu.Unlock()
	if s == nil || a.Worth == nil || !kind.Namespaced || sel.Namespace == "" || sel.Fields != "" {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members == nil {
		s.members, s.labels = map[string][]*member{}, sel.Labels
	}
	if s.begun || s.labels != sel.Labels {
		return nil, false
	}
	s.members[sel.Namespace] = append(s.members[sel.Namespace], m)
	if s.joined++; s.joined == s.expected {
		close(s.complete)
	}
	return s, s.joined == 1
}

// share watches the kind for all views that have joined.
func (a *Across) share(ctx context.Context, s *sharing, kind object.Kind) {
	defer close(s.ended)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-s.idle:
			stop()
		case <-ctx.Done():
		}
	}()
	timer := time.NewTimer(joinWithin)
	defer timer.Stop()
	select {
	case <-s.complete:
	case <-timer.C:
	case <-ctx.Done():
	}
	n := s.begin()
	if !a.Worth(ctx, kind, n) {
		s.refused = true
		return
	}
	s.err = a.Watcher.Watch(ctx, kind, object.Selection{Labels: s.labels}, s.receive)
	// An account may be allowed to watch its own namespaces only.
	s.refused = !MayPass(s.err)
}

// sharing is the shared watch of a kind.
type sharing struct {
	expected int
	complete chan struct{} // closed once all expected views have joined
	idle     chan struct{} // closed once all views have left
	ended    chan struct{} // closed once refused and err are set
	// refused means that each view needs a watch of its own; otherwise err has ended the watch.
	refused bool
	err     error

	mu      sync.Mutex
	labels  string               // that all members select
	members map[string][]*member // by namespace
	joined  int
	left    int
	begun   bool
}

// begin admits no further views, and returns how many have joined.
func (s *sharing) begin() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	return s.joined
}

func (s *sharing) leave(m *member) {
	m.mu.Lock()
	m.left = true
	m.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left++; s.left == s.joined {
		s.begun = true
		close(s.idle)
	}
}

// receive distributes a change. The members do not change once the watch has begun.
func (s *sharing) receive(change object.Change) {
	var of *unstructured.Unstructured
	switch c := change.(type) {
	case object.Present:
		of = c.Object
	case object.Gone:
		of = c.Object
	default:
		for _, members := range s.members {
			for _, m := range members {
				m.receive(change)
			}
		}
		return
	}
	for _, m := range s.members[of.GetNamespace()] {
		if m.name == "" || m.name == of.GetName() {
			m.receive(change)
		}
	}
}

// member is a view of a shared watch.
type member struct {
	name   string
	report func(object.Change)

	mu   sync.Mutex
	left bool
}

func (m *member) receive(change object.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.left {
		m.report(change)
	}
}
