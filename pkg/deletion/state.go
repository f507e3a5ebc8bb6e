package deletion

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// mark is what moves in an object that is slow, and stands still in one that is
// stuck. Messages of conditions are no part of it: some hold the time of day.
type mark struct {
	terminating bool
	finalizers  []string
	// conditions are type, status and reason, sorted; phase is the status's.
	conditions []string
	phase      string
	// held is how many objects a namespace says that it holds; -1 if it does not.
	held int
}

func markOf(u *unstructured.Unstructured) mark {
	m := mark{terminating: u.GetDeletionTimestamp() != nil, held: heldBy(u)}
	m.finalizers = object.Finalizers(u)
	m.phase, _, _ = unstructured.NestedString(u.Object, "status", "phase")
	for _, c := range object.Conditions(u) {
		said := c.Type + " is " + c.Status
		if c.Reason != "" {
			said += " (" + c.Reason + ")"
		}
		m.conditions = append(m.conditions, said)
	}
	slices.Sort(m.conditions)
	return m
}

// text tells marks apart.
func (m mark) text() string { return fmt.Sprintf("%v", m) }

// isCascades reports whether a finalizer is the server's own way to do what --cascade
// says. It goes when the garbage collector comes to it.
func isCascades(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// cascading reports whether the object waits for the garbage collector alone. Then whatever
// else moves in it, such as the conditions of a workload that its controller still works
// on, has nothing to do with its going.
func (m mark) cascading() bool {
	return len(m.finalizers) > 0 && !slices.ContainsFunc(m.finalizers, func(f string) bool { return !isCascades(f) })
}

// step says in words what moved from one mark to the next; empty if nothing did that is
// worth a word.
func (m mark) step(next mark) string {
	if m.cascading() || next.cascading() && len(m.finalizers) <= len(next.finalizers) {
		return ""
	}
	for _, f := range m.finalizers {
		if !slices.Contains(next.finalizers, f) && !isCascades(f) {
			return "finalizer " + f + " is gone"
		}
	}
	if next.held >= 0 && m.held > next.held {
		return strconv.Itoa(next.held) + " objects are left in it"
	}
	for _, c := range next.conditions {
		if !slices.Contains(m.conditions, c) {
			return "condition " + c
		}
	}
	if m.phase != next.phase {
		return "phase " + next.phase
	}
	return ""
}

// heldBy reads how many objects the namespace controller has found in a namespace.
// It says so in the text of a condition and nowhere else.
func heldBy(u *unstructured.Unstructured) int {
	c := object.ConditionOf(u, "NamespaceContentRemaining")
	if c.Status != "True" {
		return -1
	}
	n := 0
	for _, found := range regexp.MustCompile(`has (\d+) resource instances`).FindAllStringSubmatch(c.Message, -1) {
		one, _ := strconv.Atoi(found[1])
		n += one
	}
	return n
}
