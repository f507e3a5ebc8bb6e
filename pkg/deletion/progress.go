package deletion

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

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
	own, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "finalizers") // a namespace's
	m.finalizers = append(u.GetFinalizers(), own...)
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

// cascading reports whether nobody but the garbage collector is waited for. What else
// moves in the object then, such as the conditions of a workload that its controller
// goes on with, has nothing to do with its going.
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

// see takes in a new version of an object that is going. The engine is locked.
func (e *Engine) see(t *target, u *unstructured.Unstructured) {
	t.keep(u)
	next := markOf(u)
	if t.marks == nil {
		t.marks = map[string]bool{}
		t.mark, t.moved = next, time.Now()
		t.marks[next.text()] = true
		return
	}
	text := t.mark.step(next)
	if t.contents.most > 0 && len(t.mark.finalizers) == len(next.finalizers) {
		text = "" // How much is left in it says more.
	}
	t.mark = next
	if t.marks[next.text()] {
		return // Back and forth is no progress.
	}
	t.marks[next.text()] = true
	t.moved = time.Now()
	if text != "" && !t.asked.IsZero() {
		e.goes(t, event.Going{Ref: t.Ref, Text: text})
	}
}

// goes tells that something moved, once a second of an object. What is not told at once is
// told when its turn comes, and the newest of it. The engine is locked.
func (e *Engine) goes(t *target, g event.Going) {
	t.news = &g
	if e.tellNews(t, time.Now()) > 0 {
		e.wake()
	}
}

// tellNews tells what moved in an object, and returns how long that has to wait yet.
func (e *Engine) tellNews(t *target, now time.Time) time.Duration {
	if t.news == nil {
		return 0
	}
	left := t.burst.Left(now)
	if left == 0 {
		e.Emit(*t.news)
		t.news = nil
	}
	return left
}

// quietSince is since when nothing moves. A pod has until the end of its grace
// period, which is what its deletion timestamp says.
func (t *target) quietSince() time.Time {
	if until := t.terminatingSince(); until.After(t.moved) {
		return until
	}
	return t.moved
}

// holds reports whether objects of the kind go only after what they hold.
func holds(kind object.Kind) bool {
	switch kind.GVK.GroupKind().String() {
	case "Namespace", "CustomResourceDefinition.apiextensions.k8s.io":
		return true
	}
	return false
}

// contents is what is known of what a target holds.
type contents struct {
	running bool
	// left is how many objects it holds, most how many it held at first.
	left, most int
	// due is when to count again, zero before the first time, and pause what came
	// before it.
	due   time.Time
	pause time.Duration
}

const (
	// countAfter is when an object that is still there is counted first; then pauses
	// grow from countFirst to countLast.
	countAfter = 500 * time.Millisecond
	countFirst = 2 * time.Second
	countLast  = 10 * time.Second
)

func (c *contents) next(asked time.Time) time.Time {
	if c.due.IsZero() {
		return asked.Add(countAfter)
	}
	return c.due
}

// count counts what a target holds, beside the wait. The engine is locked.
func (e *Engine) count(ctx context.Context, t *target) {
	t.contents.running = true
	live := t.live
	e.side.Go(func() {
		n, err := e.Counter.Count(ctx, live)
		e.mu.Lock()
		defer e.mu.Unlock()
		c := &t.contents
		c.running = false
		c.pause = min(max(countFirst, c.pause+c.pause/4), countLast)
		c.due = time.Now().Add(c.pause)
		defer e.wake()
		if err != nil || t.done || ctx.Err() != nil {
			return // Its conditions tell, later and less.
		}
		before, known := c.left, c.most > 0
		c.left, c.most = n, max(n, c.most)
		if known && n < before {
			t.moved = time.Now()
		}
		if n != before {
			e.goes(t, event.Going{Ref: t.Ref, Done: c.most - n, Total: c.most})
		}
	})
}
