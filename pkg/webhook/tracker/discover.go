package tracker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

const (
	discoverEvery = 10 * time.Minute
	discoverAgain = 30 * time.Second // after a discovery in which a group could not be read
)

var errNotAll = errors.New("the response lacks Kubernetes' own kinds")

// discover finds the kinds and starts watching them, now and after each event that may have changed
// them.
func (t *Tracker) discover(ctx context.Context) {
	var known kinds
	var soon []time.Duration // when to look again after a change
	var absent absent
	for {
		found, err := t.opts.Discovery.ServerPreferredResourcesWithContext(ctx)
		if ctx.Err() != nil {
			return
		}
		now, err := selectKinds(found, err, known, t.opts.ExcludeKinds)
		if err == nil && !hasOwn(found) {
			now, err = known, errNotAll
		}
		if err != nil {
			t.opts.Log.Error(err, "discover kinds")
		}
		now = absent.keepUnreadable(now, known, time.Now(), func(k kind) bool { return t.isServed(ctx, k) })
		if now != nil {
			t.watchAll(ctx, known, now, known == nil)
			known = now
		}
		if err == nil {
			t.forgetPromises(ctx, &absent, time.Now())
		}
		if names := absent.takeContradicted(); len(names) > 0 {
			err = fmt.Errorf("the response lacks kinds that are served: %s", strings.Join(names, ", "))
			t.opts.Log.Error(err, "discover kinds")
		}
		after := discoverEvery
		switch {
		case len(soon) > 0:
			after, soon = soon[0], soon[1:]
		case err == nil && len(absent.since) > 0:
			after = goneAfter
		case err != nil && known == nil:
			after = time.Second
		case err != nil:
			after = discoverAgain
		}
		changed, err := t.awaitChange(ctx, after)
		if err != nil {
			return
		}
		if changed {
			soon = []time.Duration{2 * time.Second, 5 * time.Second} // The API server takes a moment to serve a changed CRD.
		}
	}
}

func (t *Tracker) awaitChange(ctx context.Context, after time.Duration) (changed bool, err error) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-timer.C:
		return false, nil
	case <-t.changed:
		return true, retry.For(ctx, time.Second)
	}
}

func (t *Tracker) forgetPromises(ctx context.Context, absent *absent, now time.Time) {
	t.mu.Lock()
	names := slices.Sorted(maps.Keys(t.loaded.Resources))
	t.mu.Unlock()
	for _, name := range names {
		resource := schema.ParseGroupResource(name)
		if !absent.isGone(resource, now, func() bool { return t.isDefined(ctx, resource) }) {
			continue
		}
		t.mu.Lock()
		delete(t.loaded.Resources, name)
		t.mu.Unlock()
	}
}

// isServed reports whether a kind that is missing from discovery is served, by requesting its
// objects. If the webhook is not allowed to list the kind, the response depends on whether the kind
// has a CRD.
func (t *Tracker) isServed(ctx context.Context, k kind) bool {
	_, err := t.opts.Metadata.Resource(k.resource).List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsForbidden(err) {
		return t.isDefined(ctx, k.resource.GroupResource())
	}
	return !apierrors.IsNotFound(err)
}

// isDefined reports whether a kind has a CRD, served or not. It takes no version, because a kind
// known only from the checkpoint has none.
func (t *Tracker) isDefined(ctx context.Context, name schema.GroupResource) bool {
	if !strings.Contains(name.Group, ".") {
		return false // Kubernetes' own kinds have no CRD.
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	found, err := t.opts.Metadata.Resource(definitions).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name.String()})
	return err != nil || len(found.Items) > 0
}

func (t *Tracker) watchAll(ctx context.Context, before, now kinds, first bool) {
	come, gone := now.differ(before)
	if first {
		t.mu.Lock()
		t.pending = len(come)
		t.mu.Unlock()
		t.ready.Store(len(come) == 0)
	}
	for _, k := range gone {
		if w := t.stop(k.resource.GroupResource()); w != nil {
			t.mu.Lock()
			t.state.remove(w)
			t.mu.Unlock()
		}
	}
	for _, k := range come {
		t.stop(k.resource.GroupResource())
		t.start(ctx, k, first)
	}
}

func (t *Tracker) start(ctx context.Context, k kind, first bool) {
	name := k.resource.GroupResource()
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.state.add(k, t.loaded.Resources[name.String()])
	delete(t.loaded.Resources, name.String())
	ctx, end := context.WithCancel(ctx)
	l := &loop{end: end}
	t.loops[name] = l
	f := &follower{Tracker: t, watched: w, first: first}
	l.done.Go(func() { f.run(ctx) })
}

func (t *Tracker) stop(name schema.GroupResource) *watched {
	t.mu.Lock()
	l := t.loops[name]
	delete(t.loops, name)
	w := t.state.resources[name]
	t.mu.Unlock()
	if l == nil {
		return nil
	}
	l.end()
	l.done.Wait()
	return w
}

func (t *Tracker) stopAll() {
	t.mu.Lock()
	names := slices.Collect(maps.Keys(t.loops))
	t.mu.Unlock()
	for _, name := range names {
		t.stop(name)
	}
}
