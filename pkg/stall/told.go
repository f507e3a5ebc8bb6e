package stall

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Told is what was said last of why an object hangs. The zero value: nothing yet.
type Told struct{ text string }

// News reports whether an explanation says what was not told before it, and takes it for
// told. One that says nothing is no news. Codes and what blocks tell one from another;
// numbers in a message may change all the time.
func (t *Told) News(causes []event.Cause, err error) bool {
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
