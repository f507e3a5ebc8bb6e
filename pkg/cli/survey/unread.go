package survey

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type unreadError struct {
	unread []event.Unread
	needs  string
	each   bool
}

// Unread returns an error about everything that could not be read; nil if everything was read. The
// parameter (needs) becomes the hint if a permission is missing. The error names the first few kinds
// for each reason, or each kind.
func Unread(unread []event.Unread, needs string, each bool) error {
	if len(unread) == 0 {
		return nil
	}
	return &unreadError{unread, needs, each}
}

func (e *unreadError) Error() string {
	const few = 5
	some := few
	if e.each {
		some = len(e.unread)
	}
	var reasons []string
	names, objects := map[string][]string{}, map[string]int{}
	for _, u := range e.unread {
		why := string(apierrors.ReasonForError(u.Err))
		if why == "" {
			why = text.Excerpt(u.Err.Error())
		}
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], u.Ref.String())
		if u.Ref.Name != "" {
			objects[why]++
		}
	}
	message := make([]string, len(reasons))
	for i, why := range reasons {
		list := text.List(names[why], some)
		switch n := len(names[why]); {
		case n <= few:
			message[i] = list + " (" + why + ")"
		case objects[why] == 0:
			message[i] = fmt.Sprintf("%d kinds (%s): %s", n, why, list)
		case objects[why] == n:
			message[i] = fmt.Sprintf("%d objects (%s): %s", n, why, list)
		default:
			message[i] = fmt.Sprintf("%d kinds and objects (%s): %s", n, why, list)
		}
	}
	return "could not be read: " + strings.Join(message, "; ")
}

// Hint returns the missing permission, or else the first hint among the reasons.
func (e *unreadError) Hint() string {
	if slices.ContainsFunc(e.unread, func(u event.Unread) bool { return apierrors.IsForbidden(u.Err) }) {
		return e.needs
	}
	for _, u := range e.unread {
		if hint := object.HintOf(u.Err); hint != "" {
			return hint
		}
	}
	return ""
}
