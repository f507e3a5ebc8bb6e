package stuck

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// releases is passed in place of a finalizer for the update that removes an owner reference.
// [diagnosis.admission] treats this update like the removal of a finalizer.
const releases = ""

func purpose(finalizer string) string {
	if finalizer == releases {
		return "the update that removes its owner reference"
	}
	return "the update that removes the finalizer " + text.Excerpt(finalizer)
}

// admission finds out whether the update that removes the finalizer would be admitted (edge case
// 61). It sends one dry run for each class of objects.
func (d *diagnosis) admission(u *unstructured.Unstructured, finalizer string) []finding {
	if !d.settled() {
		return nil // First find out which webhooks the server calls.
	}
	hooks := d.HooksFor(u, admissionv1.Update)
	tried := d.standIn(u, finalizer, hooks)
	err := d.replay(tried, finalizer)
	switch {
	case err == nil:
		return nil
	case deniedByHook(err): // A webhook may choose any code; the default is 400.
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil
	case diagnose.Slow(err): // This says nothing about the update.
		return d.deadHooks(hooks)
	case apierrors.IsForbidden(err) && !d.mayPatch(tried), apierrors.IsBadRequest(err):
		// We lack the permission, or a webhook does not support dry runs.
		return d.deadHooks(hooks)
	}
	message := "the server's answer to a dry run"
	if tried != object.RefOf(u) {
		message += " with " + diagnose.Name(tried)
	}
	message += ": " + text.Excerpt(redact.Refusal(tried, err).Error()) // without the values of Secrets
	if h, ok := quotedIn(hooks, err.Error()); ok {
		return []finding{d.refusedBy(h, err, purpose(finalizer), message)}
	}
	return []finding{d.refused(u, finalizer, err, message)}
}

func (d *diagnosis) settled() bool {
	misses := d.Misses()
	d.Kinds()
	d.Hooks()
	return d.Misses() == misses
}

func (d *diagnosis) standIn(u *unstructured.Unstructured, finalizer string, hooks []diagnose.Hook) object.Ref {
	key := class{kind: u.GroupVersionKind().GroupKind(), finalizer: finalizer}
	conditional := false
	for _, h := range hooks {
		key.hooks += " " + h.Config.String() + " " + h.Name
		conditional = conditional || h.Conditional
	}
	ref := object.RefOf(u)
	if conditional { // The conditions may match only some objects.
		return ref
	}
	if _, met := d.classes[key]; !met {
		d.classes[key] = ref
	}
	return d.classes[key]
}

// replay returns the error of the dry run that removes the finalizer; nil if the dry run succeeded
// or has no answer yet.
func (d *diagnosis) replay(ref object.Ref, finalizer string) error {
	q := diagnose.Question{Verb: diagnose.Replay, GVK: ref.GVK, Namespace: ref.Namespace, Name: ref.Name, Detail: finalizer}
	a, _ := d.Ask(q)
	if a.Err != nil && (!diagnose.Denied(a.Err) || d.mayPatch(ref)) && !diagnose.Slow(a.Err) {
		d.Excuse(q) // The refusal itself is the answer.
	}
	return a.Err
}

// If we lack the permission to patch, the error looks like a rejection by admission control.
func (d *diagnosis) mayPatch(ref object.Ref) bool {
	yes, sure := d.Allowed("", "patch", ref)
	return yes || !sure
}

func quotedIn(hooks []diagnose.Hook, text string) (diagnose.Hook, bool) {
	i := slices.IndexFunc(hooks, func(h diagnose.Hook) bool { return strings.Contains(text, strconv.Quote(h.Name)) })
	if i < 0 {
		return diagnose.Hook{}, false
	}
	return hooks[i], true
}

// Only the message reveals the denial: a webhook can choose any code.
func deniedByHook(err error) bool {
	_, of, ok := strings.Cut(err.Error(), "admission webhook \"")
	return ok && strings.Contains(of, "\" denied the request")
}

func (d *diagnosis) refusedBy(h diagnose.Hook, err error, purpose, message string) finding {
	unanswered := apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err)
	if unanswered && !deniedByHook(err) {
		return d.unreachable(h, message)
	}
	return finding{rank: rankAdmission, Cause: event.Cause{
		Code:      WebhookRefuses,
		Message:   "the admission webhook " + text.Excerpt(h.Name) + " refuses " + purpose,
		Evidence:  []string{message},
		Next:      command.Kubectl("get") + " " + diagnose.On(h.Config) + " -o yaml",
		Risk:      "exempting the object from the webhook, or removing the webhook, bypasses its check",
		BlockedBy: h.Config,
	}}
}

func (d *diagnosis) unreachable(h diagnose.Hook, evidence ...string) finding {
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:     WebhookUnreachable,
		Message:  "the admission webhook " + text.Excerpt(h.Name) + " does not answer; until it does, the requests that it checks are refused",
		Evidence: evidence,
		Next: command.Kubectl("patch") + " " + diagnose.On(h.Config) + " --type=json -p " +
			text.ShellQuote(fmt.Sprintf(`[{"op":"replace","path":"/webhooks/%d/failurePolicy","value":"Ignore"}]`, h.Index)),
		Risk:      "requests go unchecked until failurePolicy is set back to Fail",
		BlockedBy: h.Config,
	}}
	if h.Service == nil {
		f.Evidence = append(f.Evidence, "it is called at "+text.Excerpt(h.URL))
		return f
	}
	b := d.Backend(*h.Service)
	f.Evidence = append(f.Evidence, b.Evidence...)
	if b.Next != "" {
		f.Next, f.Risk = b.Next, ""
	}
	return f
}

func (d *diagnosis) deadHooks(hooks []diagnose.Hook) []finding {
	var found []finding
	for _, h := range hooks {
		if h.Service == nil || !h.Strict || h.Conditional {
			continue
		}
		if d.Backend(*h.Service).Dead {
			found = append(found, d.unreachable(h, "inferred from its rules and its service, because no dry run was possible"))
		}
	}
	return found
}

func (d *diagnosis) refused(u *unstructured.Unstructured, finalizer string, err error, message string) finding {
	ref := object.RefOf(u)
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:      AdmissionRefuses,
		Message:   "the server refuses " + purpose(finalizer),
		Evidence:  []string{message},
		Next:      command.Kubectl("get") + " validatingadmissionpolicies,validatingadmissionpolicybindings",
		BlockedBy: ref,
	}}
	if policy, why, ok := deniedByPolicy(err); ok {
		f.Message = "the ValidatingAdmissionPolicy " + text.Excerpt(policy) + " refuses " + purpose(finalizer)
		if why != "" && !redact.IsSecret(ref) {
			f.Message += ": " + text.Excerpt(why)
		}
		f.BlockedBy = diagnose.RefOf("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", policy)
		f.Next = command.Kubectl("get") + " " + diagnose.On(f.BlockedBy) + " -o yaml"
		f.Risk = "exempting the object from the policy bypasses its check"
		return f
	}
	if invalidFields(err) {
		f.Code = UpdateInvalid
		f.Message = "the object is no longer valid, so the server refuses every update, including " + purpose(finalizer)
		f.Next = command.Kubectl("edit") + " " + diagnose.On(ref)
		return f
	}
	if apierrors.IsInternalError(err) || diagnose.Troubled(err) {
		f.Code = UpdateFails
		f.Message = purpose(finalizer) + " fails with a server error"
		f.Next = command.Kubectl("get") + " --raw '/readyz?verbose'"
	}
	return f
}

// deniedByPolicy returns the policy that denied a request, and its reason. Only the message names
// the policy.
func deniedByPolicy(err error) (policy, why string, ok bool) {
	_, rest, ok := strings.Cut(err.Error(), "ValidatingAdmissionPolicy '")
	policy, rest, named := strings.Cut(rest, "' with binding '")
	_, why, denied := strings.Cut(rest, "' denied request: ")
	return policy, why, ok && named && denied && policy != ""
}

// Errors from policies do not name fields.
func invalidFields(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field != "" })
}
