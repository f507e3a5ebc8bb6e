package schedule

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Marks records the states that an object has had so far. Only a new state counts as progress, so
// alternating between two states does not.
type Marks struct{ seen []uint64 } // a slice, because there are many objects with few states each

// Moved reports whether the object's state is new, and records it.
func (m *Marks) Moved(u *unstructured.Unstructured) bool {
	mark := markOf(u)
	if slices.Contains(m.seen, mark) {
		return false
	}
	m.seen = append(m.seen, mark)
	return true
}

// counted returns the status fields whose numbers show progress. It omits counts of failures and
// restarts, because they also grow while an object is stuck.
func counted() []string {
	return []string{
		"observedGeneration", "replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "currentReplicas", // workloads
		"desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable", // DaemonSets
		"active", "ready", "succeeded", // Jobs
	}
}

// markOf returns a hash of the object's state. It omits messages and times, because some
// controllers put the current time in them.
func markOf(u *unstructured.Unstructured) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, u.GetUID(), u.GetGeneration(), u.GetDeletionTimestamp() != nil, u.GetFinalizers())
	status, _ := u.Object["status"].(map[string]any)
	for _, field := range counted() {
		if n, ok := object.WholeNumber(status[field]); ok {
			fmt.Fprintln(h, field, n)
		}
	}
	for _, field := range []string{"phase", "state", "health", "currentRevision", "updateRevision"} {
		if text, ok := status[field].(string); ok {
			fmt.Fprintln(h, field, text)
		}
	}
	var lines []string
	for _, c := range object.Conditions(u) {
		lines = append(lines, c.Type+" "+c.Status+" "+c.Reason)
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} { // Pods
		items, _ := status[list].([]any)
		for _, item := range items {
			lines = append(lines, list+" "+containerMark(item))
		}
	}
	slices.Sort(lines)
	_, _ = io.WriteString(h, strings.Join(lines, "\n")) // Writing to a hash never fails.
	return h.Sum64()
}

func containerMark(status any) string {
	s, _ := status.(map[string]any)
	message := []string{fmt.Sprint(s["name"], s["ready"], s["started"])}
	states, _ := s["state"].(map[string]any)
	for _, kind := range []string{"waiting", "running", "terminated"} {
		if state, ok := states[kind].(map[string]any); ok {
			message = append(message, kind, fmt.Sprint(state["reason"]), fmt.Sprint(state["exitCode"]))
		}
	}
	return strings.Join(message, " ")
}

// Reported is the last explanation that was reported.
type Reported struct{ text string }

// News reports whether an explanation differs from the last one, and records it. It compares codes
// and blocking objects, because numbers in messages change.
func (t *Reported) News(causes []event.Cause, err error) bool {
	text := textOf(causes, err)
	if text == "" || text == t.text {
		return false
	}
	t.text = text
	return true
}

func textOf(causes []event.Cause, err error) string {
	var text strings.Builder
	for _, c := range causes {
		fmt.Fprintln(&text, c.Code, c.BlockedBy)
	}
	if err != nil && len(causes) == 0 {
		fmt.Fprintln(&text, err)
	}
	return text.String()
}

// calm is the shortest pause between two reports about an object.
const calm = time.Second

// Burst limits the rate of reports about one object. The zero value is ready to use.
type Burst struct{ last time.Time }

// Left returns how long the next report must wait. If it returns 0, the report counts as made.
func (b *Burst) Left(now time.Time) time.Duration {
	if left := b.last.Add(calm).Sub(now); left > 0 && !b.last.IsZero() {
		return left
	}
	b.last = now
	return 0
}
