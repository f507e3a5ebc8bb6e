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

// target is guarded by the engine's lock.
type target struct {
	Item
	kind *object.Kind
	view *view

	found bool
	// refused is the error with which Admit refused the deletion; nil if it did not.
	refused error
	// accepted is set if the server accepted the deletion of a target that was never seen.
	accepted bool
	// unseen is set for a target that we have no permission to read, so its deletion is requested
	// by name.
	unseen     bool
	uid        types.UID
	aggregated bool
	// live is the object as last seen; nil unless it is terminating.
	live *unstructured.Unstructured
	// seen holds the object as last seen, for Stays; nil once the deletion has been requested.
	seen *unstructured.Unstructured
	// started is set once the phase has been reported. From then on, results of the target are
	// reported too.
	started bool
	lost    bool
	// asked holds the time at which the server accepted the deletion; zero until then.
	asked time.Time
	// returned is set if the response to the deletion was the object without a deletion timestamp,
	// as for Services. Then the object is gone, except perhaps in an aggregated API.
	returned bool
	done     bool
	result   event.Action

	// passage is nil before the deletion begins and after the target is done, because only a few of
	// a hundred thousand objects are being deleted at any one time.
	*passage
}

type passage struct {
	// moved holds the time of the object's last progress; marks holds the states that it has been
	// in.
	moved time.Time
	mark  mark
	marks map[string]bool

	news  *event.Terminating
	burst schedule.Burst

	contents    contents
	explanation explanation
}

func (t *target) markTerminating() {
	if t.passage == nil {
		t.passage = &passage{}
	}
}

// remember stores a terminating object, or one that Stays needs.
func (t *target) remember(u *unstructured.Unstructured) {
	t.aggregated = isAggregated(u)
	if u.GetDeletionTimestamp() != nil {
		t.live = u
	}
	if t.Stays != nil && t.asked.IsZero() {
		t.seen = u
	}
}

func (t *target) terminatingSince() time.Time {
	if t.live != nil {
		return t.live.GetDeletionTimestamp().Time
	}
	return time.Time{}
}

// quietSince returns the time since which the object has made no progress. A Pod's grace period
// does not count; it ends at the deletion timestamp.
func (t *target) quietSince() time.Time {
	if until := t.terminatingSince(); until.After(t.moved) {
		return until
	}
	return t.moved
}

// view is guarded by the engine's lock.
type view struct {
	*watchset.View
	engine *Engine
	// If open is set, every object found before the view is synced becomes a target.
	open    bool
	targets map[types.NamespacedName]*target
	order   []*target

	// ready is closed once it is known which objects exist, or that there is no way to find out.
	ready chan struct{}
	once  sync.Once
	// synced is set once the watch has listed the objects. kindGone is set if the kind is no longer
	// served.
	synced, kindGone bool
	blind            bool
	ended            error
}

func (v *view) wait(ctx context.Context) {
	select {
	case <-v.ready:
	case <-ctx.Done():
	}
}

func (v *view) isReady() { v.once.Do(func() { close(v.ready) }) }

// mark is the part of an object that changes as its deletion progresses. It omits the messages of
// conditions, because some contain the time.
type mark struct {
	terminating bool
	finalizers  []string
	conditions  []string
	phase       string
	// held counts the objects in a namespace, according to its status; -1 if unknown.
	held int
}

func markOf(u *unstructured.Unstructured) mark {
	m := mark{terminating: u.GetDeletionTimestamp() != nil, held: heldBy(u)}
	m.finalizers = object.Finalizers(u)
	m.phase, _, _ = unstructured.NestedString(u.Object, "status", "phase")
	for _, c := range object.Conditions(u) {
		message := c.Type + " is " + c.Status
		if c.Reason != "" {
			message += " (" + c.Reason + ")"
		}
		m.conditions = append(m.conditions, message)
	}
	slices.Sort(m.conditions)
	return m
}

func (m mark) text() string { return fmt.Sprintf("%v", m) }

// --cascade makes the server set these finalizers, and the garbage collector removes them.
func isCascades(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// cascading reports whether the object is waiting only for the garbage collector. Other changes,
// such as changes to a workload's conditions, are then not progress.
func (m mark) cascading() bool {
	return len(m.finalizers) > 0 && !slices.ContainsFunc(m.finalizers, func(f string) bool { return !isCascades(f) })
}

// step describes the change, or returns "" if it need not be reported.
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

// The namespace controller gives the number only in a condition's message.
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
