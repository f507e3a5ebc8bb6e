package stuck

import (
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func notTerminating(u *unstructured.Unstructured) event.Cause {
	if u == nil {
		return event.Cause{Code: Unknown, Message: "the object could not be read"}
	}
	return event.Cause{
		Code:    NotTerminating,
		Message: "its deletion has not been requested",
		Next:    command.Kubectl("k8sconnect", "delete") + " " + diagnose.On(object.RefOf(u)),
	}
}

func (d *diagnosis) unknown(u *unstructured.Unstructured) finding {
	ref := object.RefOf(u)
	f := finding{rank: rankSilent, Cause: event.Cause{
		Code:     Unknown,
		Message:  "no cause was found: it has no finalizers, and nothing is known to hold it back",
		Evidence: []string{"deleted " + diagnose.Ago(d.Now.Sub(diagnose.Since(u))) + " ago, no finalizers"},
		Next:     command.Kubectl("get") + " " + diagnose.On(ref) + " -o yaml --show-managed-fields",
	}}
	if len(u.GetFinalizers()) > 0 {
		f.Message = "no cause was found: it is not known what its finalizers are waiting for"
		f.Evidence = []string{"finalizers: " + text.Excerpt(strings.Join(u.GetFinalizers(), ", "))}
	}
	return f
}

type gap int

const (
	// gapUnreported is for a question that another cause already covers.
	gapUnreported gap = iota
	// gapForbidden is for an object that we are not allowed to read.
	gapForbidden
	// gapUnanswered is for a read that failed although the server as a whole works.
	gapUnanswered
	// gapThrottled and gapFailing are for faults of the server as a whole.
	gapThrottled
	gapFailing
	// gapUnreadable is for an object that the server cannot read from its store.
	gapUnreadable
)

// gaps groups failed questions, so that an unknown fact is not mistaken for an absent one (edge
// case 67).
func (d *diagnosis) gaps() map[gap][]string {
	blame := d.blame()
	told := map[gap][]string{}
	for q, err := range d.Unanswered() {
		words := q.String()
		kind := gapOf(q, err, blame)
		switch kind {
		case gapUnanswered:
			words += ": " + reason(err)
		case gapFailing:
			words += ": " + text.Excerpt(err.Error())
		default:
		}
		told[kind] = append(told[kind], words)
	}
	for _, message := range told {
		slices.Sort(message)
	}
	return told
}

func gapOf(q diagnose.Question, err error, blame func(error) bool) gap {
	switch {
	case q.Verb == diagnose.Replay && diagnose.Slow(err):
		return gapUnanswered
	case q.Verb == diagnose.Replay && !diagnose.Denied(err): // The refusal is a cause of its own.
		return gapUnreported
	case diagnose.Denied(err):
		if q.Verb == diagnose.Allowed {
			return gapUnreported
		}
		return gapForbidden
	case undecryptable(err): // This comes first, however the error is wrapped.
		return gapUnreadable
	case !diagnose.Troubled(err) || !blame(err): // The error is about this kind only, or will pass.
		if q.Verb == diagnose.Allowed {
			return gapUnreported
		}
		return gapUnanswered
	case apierrors.IsTooManyRequests(err):
		return gapThrottled
	default:
		return gapFailing
	}
}

func (d *diagnosis) unread() (finding, bool) {
	gaps := d.gaps()
	denied, failed := gaps[gapForbidden], gaps[gapUnanswered]
	if len(denied)+len(failed) == 0 {
		return finding{}, false
	}
	f := finding{rank: rankBlind, Cause: event.Cause{
		Code:     NotPermitted,
		Message:  text.Count(len(denied), "read") + " failed for lack of permission: there may be more causes",
		Evidence: diagnose.Some(append(denied, failed...), 8),
		Next:     "try again as a user with permission for these reads",
	}}
	if len(denied) == 0 {
		f.Code, f.Next = NotRead, ""
		f.Message = text.Count(len(failed), "read") + " failed: there may be more causes"
	}
	return f, true
}

func reason(err error) string {
	if why := apierrors.ReasonForError(err); why != metav1.StatusReasonUnknown {
		return string(why)
	}
	return text.Excerpt(err.Error())
}

func (d *diagnosis) server() []finding {
	gaps := d.gaps()
	var found []finding
	if message := gaps[gapFailing]; len(message) > 0 {
		found = append(found, finding{rank: rankServer, Cause: event.Cause{
			Code:     ServerFailing,
			Message:  "the API server is failing: nothing will go away until it recovers",
			Evidence: diagnose.Some(message, 5),
			Next:     command.Kubectl("get") + " --raw '/readyz?verbose'",
		}})
	}
	if message := gaps[gapThrottled]; len(message) > 0 {
		found = append(found, finding{rank: rankServer, Cause: event.Cause{
			Code:     ServerThrottling,
			Message:  "the API server is overloaded and rejects requests, including those from Kubernetes' own controllers",
			Evidence: diagnose.Some(message, 5),
			Next:     command.Kubectl("get") + " --raw /debug/api_priority_and_fairness/dump_priority_levels",
		}})
	}
	if message := gaps[gapUnreadable]; len(message) > 0 {
		found = append(found, finding{rank: rankServer, Cause: event.Cause{ // KEP-3926; edge case 66
			Code:     Undecryptable,
			Message:  "objects in the store cannot be decrypted or decoded, so they can be neither listed nor deleted",
			Evidence: diagnose.Some(message, 5),
			Next:     "restore the key with which they were written (the API server's EncryptionConfiguration); only if it is lost for good, delete them with ignoreStoreReadErrorWithClusterBreakingPotential (KEP-3926)",
			Risk:     "deleting objects that cannot be read bypasses their finalizers; whatever they represent may be left behind",
		}})
	}
	return found
}

// If only one API group fails and others answer, the storage of one kind is at fault rather than
// the server.
func (d *diagnosis) blame() func(error) bool {
	failing := map[string]bool{}
	for q, err := range d.Unanswered() {
		if q.Verb != diagnose.Replay && diagnose.Troubled(err) && !undecryptable(err) {
			failing[q.GVK.Group] = true
		}
	}
	answers := d.Facts.AnswersElse(failing)
	return func(err error) bool { return !answers || len(failing) > 1 && !diagnose.Slow(err) }
}

func undecryptable(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonStoreReadError
}
