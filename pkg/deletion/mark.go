package deletion

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
