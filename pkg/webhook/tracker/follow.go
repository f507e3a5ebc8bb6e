package tracker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

const (
	// A refusal is logged once the pauses are longer than refusedLong.
	refusedLong = 8 * time.Second
	// steady is how long a watch must last to prove that watching works.
	steady = 5 * time.Second
)

func (f *follower) run(ctx context.Context) {
	pauses, away, refusals := newPauses(), newAbsences(), newRefusals()
	for ctx.Err() == nil {
		permitted := f.permissions.wait()
		err := f.pass(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.listedOnce()
		}
		if f.worked { // A slow list that fails is retried less and less often.
			pauses, away, refusals, f.worked = newPauses(), newAbsences(), newRefusals(), false
		}
		var in time.Duration
		switch {
		case err == nil, errors.Is(err, errTooOld):
			in = pauses.Step()
		case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err), apierrors.IsNotFound(err):
			in = refusals.Step()
			f.setRefused(true)
			if in > refusedLong && !f.noted {
				f.noted = true
				f.opts.Log.Info("not tracked", "resource", f.resource.String(), "error", err.Error())
			}
			if sleepUnless(ctx, in, permitted) {
				refusals = newRefusals()
			}
			continue
		default:
			// While the server is unreachable, the pauses are short: a request costs nothing, and
			// its failure says nothing about the list.
			if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
				in = away.Step()
			} else {
				in = pauses.Step()
			}
			f.opts.Log.Info("watch ended", "resource", f.resource.String(), "error", err.Error())
		}
		if retry.For(ctx, in) != nil {
			return
		}
	}
}

func (f *follower) pass(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	f.listedOnce()
	f.setRefused(false)
	f.noted = false
	began := time.Now()
	err := f.watch(ctx)
	f.worked = time.Since(began) > steady
	if tooOld(err) {
		f.declareGap("watch", f.position().Version, err)
		if errors.Is(err, errUndone) {
			f.setRestored()
		}
		f.lost = true
		return errTooOld
	}
	return err
}

func (f *follower) watch(ctx context.Context) error {
	from := f.position().Version
	switch undone, err := f.undone(ctx, from); {
	case err != nil:
		return err
	case undone:
		return errUndone
	}
	seconds := int64(watchFor / time.Second)
	w, err := f.opts.Metadata.Resource(f.resource).Watch(ctx, metav1.ListOptions{
		ResourceVersion: from, AllowWatchBookmarks: true, TimeoutSeconds: &seconds, FieldSelector: f.selector(),
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if err := f.event(e); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) event(e watch.Event) error {
	if e.Type == watch.Error {
		return apierrors.FromObject(e.Object)
	}
	o, ok := e.Object.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil
	}
	if err := versioned(o.ResourceVersion); err != nil {
		return err
	}
	now := time.Now()
	switch e.Type {
	case watch.Bookmark:
		f.do(func(s *state) []*pendingChange { s.bookmark(f.watched, o.ResourceVersion, now); return nil })
		return nil
	case watch.Deleted:
		f.gone(o, now)
	default:
		f.present(o, false)
	}
	f.kindsMayChange()
	f.permissionsMayChange(o)
	return nil
}

// follower lists and watches the objects of one kind.
type follower struct {
	*Tracker
	*watched
	// first means that the first list has been neither read nor refused yet. It is false for kinds
	// that were found after the start.
	first bool
	// lost means that the history cannot be resumed. It is reset once a list is complete.
	lost  bool
	noted bool // a refusal was logged
	// unstreamed means that the server does not support streaming lists. unselected means that it
	// does not support field selectors for namespaces.
	unstreamed, unselected bool
	worked                 bool // a watch has lasted for some time
	// toRetrace is not nil while the current state is listed.
	toRetrace retraced
}

func (f *follower) position() position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

func (f *follower) listedOnce() {
	if !f.first {
		return
	}
	f.first = false
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending--
	f.ready.Store(f.pending <= 0)
}

func (f *follower) setRefused(refused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = refused
}

func (f *follower) kindsMayChange() {
	switch f.resource.GroupResource().String() {
	case "customresourcedefinitions.apiextensions.k8s.io", "apiservices.apiregistration.k8s.io":
	default:
		return
	}
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// permissionsMayChange wakes refused followers if a role for the webhook changes. Otherwise either
// a newly permitted kind would be discovered minutes late, or refused kinds would be retried
// thousands of times an hour.
func (f *follower) permissionsMayChange(o *metav1.PartialObjectMetadata) {
	if _, ok := o.Labels[permissionsLabel]; ok && f.resource.Group == "rbac.authorization.k8s.io" {
		f.permissions.wake()
	}
}

func (f *follower) selector() string {
	if !f.namespaced || f.unselected {
		return ""
	}
	terms := make([]string, len(f.opts.ExcludeNamespaces))
	for i, namespace := range f.opts.ExcludeNamespaces {
		terms[i] = "metadata.namespace!=" + namespace
	}
	return strings.Join(terms, ",")
}

func (f *follower) present(o *metav1.PartialObjectMetadata, list bool) {
	if f.namespaced && slices.Contains(f.opts.ExcludeNamespaces, o.Namespace) {
		return
	}
	f.going(o)
	if list && f.collect(o) {
		return
	}
	if !list {
		f.rolled(o)
	}
	f.do(func(s *state) []*pendingChange { return s.onObject(f.watched, o, list, time.Now()) })
}

func newPauses() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 100, Cap: 30 * time.Second}
}

// newAbsences returns the backoff to use while the server does not answer.
func newAbsences() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 100, Cap: time.Second}
}

// newComparisons returns long pauses, because each attempt reads all records.
func newComparisons() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.3, Steps: 100, Cap: 5 * time.Minute}
}

const (
	refusedFor = 5 * time.Minute
	// refusedFirst is the first pause after a refusal. It is short, because a newly started API
	// server forbids everything until it has read the RBAC rules.
	refusedFirst = time.Second
)

func newRefusals() wait.Backoff {
	return wait.Backoff{Duration: refusedFirst, Factor: 2, Jitter: 0.2, Steps: 100, Cap: refusedFor}
}

func sleepUnless(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	case <-wake:
		return true
	}
}

// permissionsLabel is the label of the roles that decide what may be tracked.
const permissionsLabel = "k8sconnect.io/aggregate-to-webhook"

type permissions struct {
	mu      sync.Mutex
	changed chan struct{}
}

// wait returns a channel that is closed when permissions may have changed.
func (p *permissions) wait() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

func (p *permissions) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}
