package deletion

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

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

// holds reports whether objects of the kind go only after what they hold.
func holds(kind object.Kind) bool {
	switch kind.GVK.GroupKind().String() {
	case "Namespace", "CustomResourceDefinition.apiextensions.k8s.io":
		return true
	}
	return false
}
