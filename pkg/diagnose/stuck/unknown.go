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
		Message: "nobody has asked for its deletion",
		Next:    command.Kubectl("k8sconnect", "delete") + " " + diagnose.On(object.RefOf(u)),
	}
}

// unknown is what is said where no rule found anything.
func (d *diagnosis) unknown(u *unstructured.Unstructured) finding {
	ref := object.RefOf(u)
	f := finding{rank: rankSilent, Cause: event.Cause{
		Code:     Unknown,
		Message:  "no cause was found: it has no finalizers, and nothing is known to hold it back",
		Evidence: []string{"deleted " + diagnose.Ago(d.Now.Sub(diagnose.Since(u))) + " ago, no finalizers"},
		Next:     command.Kubectl("get") + " " + diagnose.On(ref) + " -o yaml --show-managed-fields",
	}}
	if len(u.GetFinalizers()) > 0 {
		f.Message = "no cause was found for what its finalizers wait for"
		f.Evidence = []string{"finalizers: " + text.Excerpt(strings.Join(u.GetFinalizers(), ", "))}
	}
	return f
}

// gap is how a question without an answer is told.
type gap int

const (
	// gapUntold: something else tells of it.
	gapUntold gap = iota
	// gapForbidden: we may not look.
	gapForbidden
	// gapUnanswered: it says nothing of the server as a whole, nor of what is there.
	gapUnanswered
	// gapThrottled and gapFailing: it is the server's fault.
	gapThrottled
	gapFailing
	// gapUnreadable: the server itself cannot read what is there.
	gapUnreadable
)

// gaps sorts what got no answer by how it is told, each in one way. What is not known
// must not be taken for absent (edge case 67), so nothing may be told in none.
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
	for _, said := range told {
		slices.Sort(said)
	}
	return told
}

func gapOf(q diagnose.Question, err error, blame func(error) bool) gap {
	switch {
	case q.Verb == diagnose.Replay && diagnose.Slow(err):
		return gapUnanswered
	case q.Verb == diagnose.Replay && !diagnose.Denied(err): // What it ends in is a cause of its own.
		return gapUntold
	case diagnose.Denied(err):
		if q.Verb == diagnose.Allowed {
			return gapUntold
		}
		return gapForbidden
	case undecryptable(err): // Whatever else is wrong, and however it was wrapped.
		return gapUnreadable
	case !diagnose.Troubled(err) || !blame(err): // It is about the one kind, or a matter of time.
		if q.Verb == diagnose.Allowed {
			return gapUntold
		}
		return gapUnanswered
	case apierrors.IsTooManyRequests(err):
		return gapThrottled
	default:
		return gapFailing
	}
}

// unread tells what we were not allowed to look at, and what got no answer.
func (d *diagnosis) unread() (finding, bool) {
	gaps := d.gaps()
	denied, failed := gaps[gapForbidden], gaps[gapUnanswered]
	if len(denied)+len(failed) == 0 {
		return finding{}, false
	}
	f := finding{rank: rankBlind, Cause: event.Cause{
		Code:     NotPermitted,
		Message:  fmt.Sprintf("%s could not be looked at, for lack of permission: there may be causes that are not told here", text.Count(len(denied), "thing")),
		Evidence: diagnose.Some(append(denied, failed...), 8),
		Next:     "ask again as somebody who may read them",
	}}
	if len(denied) == 0 {
		f.Code, f.Next = NotRead, ""
		f.Message = fmt.Sprintf("%s could not be looked at: there may be causes that are not told here", text.Count(len(failed), "thing"))
	}
	return f, true
}

// reason is what an error is, in a few words.
func reason(err error) string {
	if why := apierrors.ReasonForError(err); why != metav1.StatusReasonUnknown {
		return string(why)
	}
	return text.Excerpt(err.Error())
}

// server tells of an API server that throttles or fails: of what it does not
// answer, nothing is known.
func (d *diagnosis) server() []finding {
	gaps := d.gaps()
	var found []finding
	if said := gaps[gapFailing]; len(said) > 0 {
		found = append(found, finding{rank: rankServer, Cause: event.Cause{
			Code:     ServerFailing,
			Message:  "the API server does not answer as it should: nothing goes away while that lasts",
			Evidence: diagnose.Some(said, 5),
			Next:     command.Kubectl("get") + " --raw '/readyz?verbose'",
		}})
	}
	if said := gaps[gapThrottled]; len(said) > 0 {
		found = append(found, finding{rank: rankServer, Cause: event.Cause{
			Code:     ServerThrottling,
			Message:  "the API server has too much to do and turns requests away, ours and those of its controllers",
			Evidence: diagnose.Some(said, 5),
			Next:     command.Kubectl("get") + " --raw /debug/api_priority_and_fairness/dump_priority_levels",
		}})
	}
	if said := gaps[gapUnreadable]; len(said) > 0 {
		found = append(found, undecryptableObjects(said))
	}
	return found
}

// blame returns what reports whether an error says something of the server as a whole.
// Where other things were answered, one kind alone is at fault whose storage is still
// being made or cannot be read; and a server that answers late is not broken.
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

// undecryptableObjects is about objects that the API server cannot read from its
// store any more (KEP-3926; edge case 66).
func undecryptableObjects(where []string) finding {
	return finding{rank: rankServer, Cause: event.Cause{
		Code:     Undecryptable,
		Message:  "objects in the store cannot be decrypted or decoded, so they can neither be listed nor deleted",
		Evidence: diagnose.Some(where, 5),
		Next:     "give the API server the key back with which they were written (its EncryptionConfiguration); only if that is lost for good, delete them with ignoreStoreReadErrorWithClusterBreakingPotential (KEP-3926)",
		Risk:     "objects that are deleted unread are gone without their finalizers having been heard; what they stood for may stay behind",
	}}
}

func undecryptable(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonStoreReadError
}

func asStatus(err error, status *apierrors.APIStatus) bool { return errors.As(err, status) }
