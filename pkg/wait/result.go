package wait

import (
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Outcome counts what kept a wait from being met. Objects of which a selector was
// all that is known count where they are unknown.
type Outcome struct {
	// Failed objects will not meet their goal, Late ones did not in time or were no longer
	// waited for, and Unknown ones could not be seen.
	Failed, Late, Unknown int
}

// UnmetError says that not everything met its goal. Events have reported what became of
// each object.
type UnmetError struct {
	Outcome
}

func (e *UnmetError) Error() string {
	return fmt.Sprintf("not everything was met: %d failed, %d not in time, %d unknown", e.Failed, e.Late, e.Unknown)
}

// NothingError says that there is nothing to wait for.
type NothingError struct {
	// The selection in words: "deployments.apps with labels app=web in namespace x".
	What string
	// Late tells that it was waited for, and did not come in time.
	Late bool
	// Why that may be; empty if nothing is known.
	Why string
}

func (e *NothingError) Error() string {
	text := "there are no " + e.What
	if e.Late {
		text = "there are still no " + e.What
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Hint says how to wait for what is not there yet.
func (e *NothingError) Hint() string {
	if e.Late {
		return ""
	}
	return "--existence-timeout=1m waits for the first of them, --for=create for nothing else"
}

// Selected describes a selection of a type in words.
func Selected(typ string, sel object.Selection) string {
	text := typ
	if sel.Labels != "" {
		text += " with labels " + sel.Labels
	}
	if sel.Fields != "" {
		text += " with fields " + sel.Fields
	}
	if sel.Namespace != "" {
		text += " in namespace " + sel.Namespace
	}
	return text
}
