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

// target is an object to delete. The engine's lock guards it.
type target struct {
	Item
	kind *object.Kind // from its set
	view *view        // nil without anything to watch

	found bool
	// accepted: the server accepted its deletion, although it was never seen.
	accepted bool
	// unseen: we may not read it, so its deletion is requested by name.
	unseen bool
	uid    types.UID
	// aggregated: see [isAggregated].
	aggregated bool
	// live is the object as last seen; nil unless it is terminating.
	live *unstructured.Unstructured
	// seen is the object as last seen, for Stays; nil once its deletion was requested.
	seen *unstructured.Unstructured
	// started: from now on, its deletion is reported.
	started bool
	// lost: its selector no longer matches.
	lost bool
	// asked is when the deletion was accepted; zero before.
	asked time.Time
	done  bool
	// result is the result if it is done.
	result event.Action

	// passage is nil before the deletion begins and after the target is done: of a hundred thousand
	// objects, few are being deleted at a time.
	*passage
}

// passage is the progress of a deletion.
type passage struct {
	// moved is when the object last moved; marks are its states so far.
	moved time.Time
	mark  mark
	marks map[string]bool

	// news is the latest change, held back by the limit on reports.
	news  *event.Going
	burst schedule.Burst

	contents    contents
	explanation explanation
}

// goes begins the passage of a target if it has not begun.
func (t *target) goes() {
	if t.passage == nil {
		t.passage = &passage{}
	}
}

// keep stores the object if it is terminating or needed for Stays.
func (t *target) keep(u *unstructured.Unstructured) {
	t.aggregated = isAggregated(u)
	if u.GetDeletionTimestamp() != nil {
		t.live = u
	}
	if t.Stays != nil && t.asked.IsZero() {
		t.seen = u
	}
}

// terminatingSince returns the object's deletion timestamp; zero if unknown.
func (t *target) terminatingSince() time.Time {
	if t.live != nil {
		return t.live.GetDeletionTimestamp().Time
	}
	return time.Time{}
}

// quietSince returns since when the object has not moved. A Pod has until the end of its grace
// period, its deletion timestamp.
func (t *target) quietSince() time.Time {
	if until := t.terminatingSince(); until.After(t.moved) {
		return until
	}
	return t.moved
}

// view is a watch and its targets. The engine's lock guards it.
type view struct {
	*watchset.View
	engine *Engine
	// open: everything found before the view is synced becomes a target.
	open    bool
	targets map[types.NamespacedName]*target
	order   []*target

	// ready is closed once it is known which objects exist, or that this cannot be known.
	ready chan struct{}
	once  sync.Once
	// synced: the watch has listed the objects. kindGone: the kind is no longer served.
	synced, kindGone bool
	// blind: reads currently fail.
	blind bool
	// ended is why the watch has ended.
	ended error
}

// wait returns when the view is ready.
func (v *view) wait(ctx context.Context) {
	select {
	case <-v.ready:
	case <-ctx.Done():
	}
}

func (v *view) isReady() { v.once.Do(func() { close(v.ready) }) }

// mark is the part of an object that changes with the progress of its deletion. It excludes
// messages of conditions: some contain the time.
type mark struct {
	terminating bool
	finalizers  []string
	// conditions are types, statuses and reasons, sorted; phase is status.phase.
	conditions []string
	phase      string
	// held is how many objects a namespace reports as its contents; -1 if unknown.
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

// text returns a key of the mark.
func (m mark) text() string { return fmt.Sprintf("%v", m) }

// isCascades reports whether the server set the finalizer for --cascade and the garbage collector
// removes it.
func isCascades(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// cascading reports whether the object waits only for the garbage collector. Then other changes,
// such as those in a workload's conditions, are not progress.
func (m mark) cascading() bool {
	return len(m.finalizers) > 0 && !slices.ContainsFunc(m.finalizers, func(f string) bool { return !isCascades(f) })
}

// step describes the change from one mark to the next; empty if none is worth reporting.
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

// heldBy returns how many objects the namespace controller has found in a namespace. Only a
// condition's message states it.
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
