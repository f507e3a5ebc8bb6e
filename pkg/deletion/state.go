package deletion

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/schedule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

// target is one object that is to go. It is guarded by the engine's lock.
type target struct {
	Item
	kind *object.Kind // that of its set
	view *view        // nil where there is nothing to see

	found bool
	// accepted: the server took the request to delete it, though it was never seen.
	accepted bool
	// unseen: we may not look at it. Its deletion is requested all the same, by its name.
	unseen bool
	uid    types.UID
	// aggregated: see [isAggregated].
	aggregated bool
	// live is the object as it was seen last, kept once it is terminating.
	live *unstructured.Unstructured
	// seen is the object as it was seen last, of an item that says whether it Stays, until
	// its deletion is requested.
	seen *unstructured.Unstructured
	// started: from now on, that it goes is the result.
	started bool
	// lost: it was seen no more by those who look for its labels.
	lost bool
	// asked is when the deletion was accepted; zero before.
	asked time.Time
	done  bool
	// result of a target that is done.
	result event.Action

	// passage is nil until it begins to go, and again once the target is done: of a hundred
	// thousand objects, few are on their way at a time.
	*passage
}

// passage is how a target goes.
type passage struct {
	// moved is when something was last seen to move; marks are what it was like, so
	// far.
	moved time.Time
	mark  mark
	marks map[string]bool

	// news is the latest that moved and was not reported yet, held back by burst.
	news  *event.Going
	burst schedule.Burst

	contents    contents
	explanation explanation
}

// goes begins the passage of a target, unless it has begun.
func (t *target) goes() {
	if t.passage == nil {
		t.passage = &passage{}
	}
}

// keep keeps an object that is terminating, or about which a question is left; of all others,
// nothing more is asked.
func (t *target) keep(u *unstructured.Unstructured) {
	t.aggregated = isAggregated(u)
	if u.GetDeletionTimestamp() != nil {
		t.live = u
	}
	if t.Stays != nil && t.asked.IsZero() {
		t.seen = u
	}
}

// terminatingSince is when the object began to go, as the server has it.
func (t *target) terminatingSince() time.Time {
	if t.live != nil {
		return t.live.GetDeletionTimestamp().Time
	}
	return time.Time{}
}

// quietSince is since when nothing moves. A pod has until the end of its grace
// period, which is what its deletion timestamp says.
func (t *target) quietSince() time.Time {
	if until := t.terminatingSince(); until.After(t.moved) {
		return until
	}
	return t.moved
}

// view is one watch, and the targets that it is about. It is guarded by the
// engine's lock.
type view struct {
	*watchset.View
	engine *Engine
	// open views take everything that they find for a target, until they are
	// synced.
	open    bool
	targets map[types.NamespacedName]*target
	order   []*target

	// ready is closed, once, when it is known what is there, or that this cannot be known.
	ready chan struct{}
	once  sync.Once
	// synced: the watch has listed what is there. kindGone: its kind is no longer served.
	synced, kindGone bool
	// blind: nothing can be seen at present.
	blind bool
	// ended is why nothing will be seen any more.
	ended error
}

// needless reports whether there is nothing to see.
func (v *view) needless() bool {
	return len(v.order) == 1 && (v.order[0].Err != nil || v.order[0].Absent)
}

// wait returns when the view is ready.
func (v *view) wait(ctx context.Context) {
	select {
	case <-v.ready:
	case <-ctx.Done():
	}
}

func (v *view) isReady() { v.once.Do(func() { close(v.ready) }) }

// isOther reports whether the object that was found is not the one that is meant.
func (t *target) isOther() bool { return t.UID != "" && t.uid != t.UID }
