package stuck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func notTerminating(u *unstructured.Unstructured) event.Cause {
	if u == nil {
		return event.Cause{Code: Unknown, Message: "the object could not be read"}
	}
	return event.Cause{
		Code:    NotTerminating,
		Message: "nobody has asked for its deletion",
		Next:    command.Kubectl("k8sconnect", "delete") + " " + on(object.RefOf(u)),
	}
}

// unknown is what is said where no rule found anything.
func (d *diagnosis) unknown(u *unstructured.Unstructured) finding {
	ref := object.RefOf(u)
	f := finding{rank: rankSilent, Cause: event.Cause{
		Code:     Unknown,
		Message:  "no cause was found: it has no finalizers, and nothing is known to hold it back",
		Evidence: []string{"deleted " + ago(d.now.Sub(since(u))) + " ago, no finalizers"},
		Next:     command.Kubectl("get") + " " + on(ref) + " -o yaml --show-managed-fields",
	}}
	if len(u.GetFinalizers()) > 0 {
		f.Message = "no cause was found for what its finalizers wait for"
		f.Evidence = []string{"finalizers: " + quote(strings.Join(u.GetFinalizers(), ", "))}
	}
	return f
}

// unread tells what we were not allowed to look at: what is there is unknown, not
// absent (edge case 67).
func (d *diagnosis) unread() (finding, bool) {
	var forbidden, failed []string
	blame := d.blame()
	for q, err := range d.blind {
		switch {
		case q.verb == replay && !denied(err) && !slow(err), q.verb == allowed:
		case denied(err):
			forbidden = append(forbidden, q.String())
		case slow(err) && q.verb == replay, (!troubled(err) || !blame(err)) && !undecryptable(err):
			failed = append(failed, q.String()+": "+reason(err))
		}
	}
	if len(forbidden)+len(failed) == 0 {
		return finding{}, false
	}
	slices.Sort(forbidden)
	slices.Sort(failed)
	f := finding{rank: rankBlind, Cause: event.Cause{
		Code:     NotPermitted,
		Message:  fmt.Sprintf("%s could not be looked at, for lack of permission: there may be causes that are not told here", count(len(forbidden), "thing")),
		Evidence: some(append(forbidden, failed...), 8),
		Next:     "ask again as somebody who may read them",
	}}
	if len(forbidden) == 0 {
		f.Code, f.Next = NotRead, ""
		f.Message = fmt.Sprintf("%s could not be looked at: there may be causes that are not told here", count(len(failed), "thing"))
	}
	return f, true
}

// String says what was asked: "list leases.coordination.k8s.io -n prod".
func (q question) String() string {
	text := string(q.verb)
	switch q.verb {
	case metadata:
		text = "list"
	case kinds:
		return "discover what the server serves"
	case replay:
		text = "update"
	default:
	}
	text += " " + strings.TrimSuffix(object.Ref{GVK: q.gvk, Name: q.name}.Resource(), "/")
	if q.namespace != "" {
		text += " -n " + q.namespace
	}
	return quote(text)
}

// reason is what an error is, in a few words.
func reason(err error) string {
	if why := apierrors.ReasonForError(err); why != metav1.StatusReasonUnknown {
		return string(why)
	}
	return quote(err.Error())
}

// server tells of an API server that throttles or fails: of what it does not
// answer, nothing is known.
func (d *diagnosis) server() []finding {
	var busy, failing, lost []string
	blame := d.blame()
	for q, err := range d.blind {
		switch {
		case q.verb == replay: // That is about the one object.
		case troubled(err) && !blame(err): // That is about the one kind, or a matter of time.
		case undecryptable(err):
			lost = append(lost, q.String())
		case apierrors.IsTooManyRequests(err):
			busy = append(busy, q.String())
		case troubled(err):
			failing = append(failing, q.String()+": "+quote(err.Error()))
		}
	}
	var found []finding
	if len(failing) > 0 {
		slices.Sort(failing)
		found = append(found, finding{rank: rankServer, Cause: event.Cause{
			Code:     ServerFailing,
			Message:  "the API server does not answer as it should: nothing goes away while that lasts",
			Evidence: some(failing, 5),
			Next:     command.Kubectl("get") + " --raw '/readyz?verbose'",
		}})
	}
	if len(busy) > 0 {
		slices.Sort(busy)
		found = append(found, finding{rank: rankServer, Cause: event.Cause{
			Code:     ServerThrottling,
			Message:  "the API server has too much to do and turns requests away, ours and those of its controllers",
			Evidence: some(busy, 5),
			Next:     command.Kubectl("get") + " --raw /debug/api_priority_and_fairness/dump_priority_levels",
		}})
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		found = append(found, undecryptableObjects(lost))
	}
	return found
}

// blame returns what tells whether an error says something of the server as a whole.
// Where other things were answered, one kind alone is at fault whose storage is still
// being made or cannot be read; and a server that answers late is not broken.
func (d *diagnosis) blame() func(error) bool {
	failing := map[string]bool{}
	for q, err := range d.blind {
		if q.verb != replay && troubled(err) {
			failing[q.gvk.Group] = true
		}
	}
	answers := d.known.answersElse(failing)
	return func(err error) bool { return !answers || len(failing) > 1 && !slow(err) }
}

// slow reports whether no more is known than that an answer did not come in time.
func slow(err error) bool { return errors.Is(err, errSlow) }

// undecryptableObjects is about objects that the API server can not read from its
// store any more (KEP-3926; edge case 66).
func undecryptableObjects(where []string) finding {
	return finding{rank: rankServer, Cause: event.Cause{
		Code:     Undecryptable,
		Message:  "objects in the store can not be decrypted or decoded, so they can neither be listed nor deleted",
		Evidence: some(where, 5),
		Next:     "give the API server the key back with which they were written (its EncryptionConfiguration); only if that is lost for good, delete them with ignoreStoreReadErrorWithClusterBreakingPotential (KEP-3926)",
		Risk:     "objects that are deleted unread are gone without their finalizers having been heard; what they stood for may stay behind",
	}}
}

func undecryptable(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonStoreReadError
}

// troubled tells that an error is about the server, not about what was asked.
func troubled(err error) bool {
	var unreachable interface{ Unreachable() bool }
	return errors.As(err, &unreachable) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsUnexpectedServerError(err)
}

func asStatus(err error, status *apierrors.APIStatus) bool { return errors.As(err, status) }
