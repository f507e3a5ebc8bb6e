package recorder

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// eventReason is shown by describe, and selects our Events.
	eventReason = "FieldOwnershipTaken"
	// eventTakeovers is how many takeovers an Event names.
	eventTakeovers = 5
	// eventNote is the limit of the API server for the text of an Event, in bytes.
	eventNote = 1024
)

// announce reports, once for each object, that its fields were taken. Repetitions
// are only counted in its record.
func (r *Recorder) announce(o ownership.Object, fresh []ownership.Entry) {
	taken := slices.DeleteFunc(fresh, func(e ownership.Entry) bool { return e.Kind != ownership.Taken })
	if r.opts.Events == nil || len(taken) == 0 {
		return
	}
	object := &corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	r.opts.Events.Eventf(object, corev1.EventTypeWarning, eventReason, "%s", eventText(taken))
}

// eventText names takeovers as warnings do: as many as fit, and how many more there
// are.
func eventText(taken []ownership.Entry) string {
	var parts []string
	length := len(fmt.Sprintf("; +%d more", len(taken)))
	for _, e := range taken[:min(len(taken), eventTakeovers)] {
		part := text.Printable(e.String())
		if length += len(part) + len("; "); length > eventNote {
			break
		}
		parts = append(parts, part)
	}
	switch more := len(taken) - len(parts); {
	case len(parts) == 0:
		return fmt.Sprintf("%d fields taken; see its OwnershipRecord", len(taken))
	case more > 0:
		parts = append(parts, fmt.Sprintf("+%d more", more))
	}
	return strings.Join(parts, "; ")
}
