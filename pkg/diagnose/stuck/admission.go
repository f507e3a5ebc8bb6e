package stuck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// class is what objects have in common of which one stands for all: the update
// that removes the finalizer ends alike for them.
type class struct {
	kind      schema.GroupKind
	finalizer string
	hooks     string
}

// releases stands for a finalizer where an update is tried that removes none: one
// that takes an owner out of the object, say, which is let through or not alike.
const releases = ""

// purpose says what an update is for.
func purpose(finalizer string) string {
	if finalizer == releases {
		return "the update that takes its owner out of it"
	}
	return "the update that removes the finalizer " + quote(finalizer)
}

// admission tells whether the update that removes the finalizer is let through: it
// is replayed as a dry run, for one object of a class (edge case 61).
func (d *diagnosis) admission(u *unstructured.Unstructured, finalizer string) []finding {
	if !d.settled() {
		return nil // First of all, who is asked about it.
	}
	hooks := d.hooksFor(u, admissionv1.Update)
	tried := d.standIn(u, finalizer, hooks)
	err := d.replay(tried, finalizer)
	switch {
	case err == nil:
		return nil
	case deniedByHook(err): // With whatever code it pleases; by default, 400.
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil
	case slow(err): // It was not tried to its end: that says nothing of the update.
		return d.deadHooks(hooks)
	case apierrors.IsForbidden(err) && !d.mayPatch(tried), apierrors.IsBadRequest(err):
		// Not tried: we may not, or a webhook has side effects and knows no dry runs.
		return d.deadHooks(hooks)
	}
	said := "the server's answer to a dry run"
	if tried != object.RefOf(u) {
		said += " with " + name(tried)
	}
	said += ": " + saying(tried, err)
	if h, ok := quotedIn(hooks, err.Error()); ok {
		return []finding{d.refusedBy(h, err, purpose(finalizer), said)}
	}
	return []finding{d.refused(u, finalizer, err, said)}
}

// settled tells whether it is known, or known to be unknowable, who is asked about
// updates.
func (d *diagnosis) settled() bool {
	misses := d.misses
	d.kinds()
	d.list(webhooks("MutatingWebhookConfiguration"), "")
	d.list(webhooks("ValidatingWebhookConfiguration"), "")
	return d.misses == misses
}

// standIn is the first object of the class that was met.
func (d *diagnosis) standIn(u *unstructured.Unstructured, finalizer string, hooks []hook) object.Ref {
	key := class{kind: u.GroupVersionKind().GroupKind(), finalizer: finalizer}
	conditional := false
	for _, h := range hooks {
		key.hooks += " " + h.config.String() + " " + h.name
		conditional = conditional || h.conditional
	}
	ref := object.RefOf(u)
	if conditional { // Each may be a case of its own.
		return ref
	}
	if d.classes == nil {
		d.classes = map[class]object.Ref{}
	}
	if _, met := d.classes[key]; !met {
		d.classes[key] = ref
	}
	return d.classes[key]
}

// replay is the server's refusal of the removal; nil also while that is not known.
func (d *diagnosis) replay(ref object.Ref, finalizer string) error {
	q := question{verb: replay, gvk: ref.GVK, namespace: ref.Namespace, name: ref.Name, detail: finalizer}
	a, ok := d.known.find(q)
	if !ok {
		d.asked[q] = true
		d.misses++
		return nil
	}
	if denied(a.err) && !d.mayPatch(ref) || slow(a.err) {
		d.blind[q] = a.err
	}
	return a.err
}

// mayPatch tells whether we may update the object at all: admission refuses with
// the same code as a lack of permission.
func (d *diagnosis) mayPatch(ref object.Ref) bool {
	yes, sure := d.allowed("", "patch", ref)
	return yes || !sure
}

// quotedIn finds the webhook that the server names in its refusal. Nothing else in
// the answer tells which it was.
func quotedIn(hooks []hook, text string) (hook, bool) {
	i := slices.IndexFunc(hooks, func(h hook) bool { return strings.Contains(text, strconv.Quote(h.name)) })
	if i < 0 {
		return hook{}, false
	}
	return hooks[i], true
}

// deniedByHook tells that a webhook was asked and said no. The code of the answer
// is the webhook's own choice, so that it tells nothing.
func deniedByHook(err error) bool {
	_, of, ok := strings.Cut(err.Error(), "admission webhook \"")
	return ok && strings.Contains(of, "\" denied the request")
}

// denied tells whether a text says that this webhook was asked and said no.
func (h hook) denied(text string) bool {
	return strings.Contains(text, "admission webhook "+strconv.Quote(h.name)+" denied the request")
}

// saying is what an error about the object says, without values of a Secret.
func saying(ref object.Ref, err error) string { return quote(redact.Refusal(ref, err).Error()) }

// refusedBy: a webhook refuses the update, or can not be asked.
func (d *diagnosis) refusedBy(h hook, err error, purpose, said string) finding {
	unanswered := apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err)
	if unanswered && !deniedByHook(err) {
		return d.unreachable(h, said)
	}
	return finding{rank: rankAdmission, Cause: event.Cause{
		Code:      WebhookRefuses,
		Message:   "the admission webhook " + quote(h.name) + " refuses " + purpose,
		Evidence:  []string{said},
		Next:      command.Kubectl("get") + " " + on(h.config) + " -o yaml",
		Risk:      "exempting the object from the webhook, or removing the webhook, lets through what it is there to stop",
		BlockedBy: h.config,
	}}
}

// unreachable: a webhook that has to be asked does not answer.
func (d *diagnosis) unreachable(h hook, evidence ...string) finding {
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:     WebhookUnreachable,
		Message:  "the admission webhook " + quote(h.name) + " does not answer, and what it would be asked about is refused while that is so",
		Evidence: evidence,
		Next: command.Kubectl("patch") + " " + on(h.config) + " --type=json -p " +
			word(fmt.Sprintf(`[{"op":"replace","path":"/webhooks/%d/failurePolicy","value":"Ignore"}]`, h.index)),
		Risk:      "what the webhook checks goes unchecked while it is away, until failurePolicy is set back to Fail",
		BlockedBy: h.config,
	}}
	if h.service == nil {
		f.Evidence = append(f.Evidence, "it is called at "+quote(h.url))
		return f
	}
	b := d.backend(*h.service)
	f.Evidence = append(f.Evidence, b.evidence...)
	if b.next != "" {
		f.Next, f.Risk = b.next, ""
	}
	return f
}

// deadHooks are those webhooks that nothing can answer for, where no dry run can
// tell.
func (d *diagnosis) deadHooks(hooks []hook) []finding {
	var found []finding
	for _, h := range hooks {
		if h.service == nil || !h.strict || h.conditional {
			continue
		}
		if d.backend(*h.service).dead {
			found = append(found, d.unreachable(h, "not tried: concluded from its rules and its service"))
		}
	}
	return found
}

// refused: something else than a webhook refuses the update.
func (d *diagnosis) refused(u *unstructured.Unstructured, finalizer string, err error, said string) finding {
	ref := object.RefOf(u)
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:      AdmissionRefuses,
		Message:   "the server refuses " + purpose(finalizer),
		Evidence:  []string{said},
		Next:      command.Kubectl("get") + " validatingadmissionpolicies,validatingadmissionpolicybindings",
		BlockedBy: ref,
	}}
	if invalidFields(err) {
		f.Code = UpdateInvalid
		f.Message = "the object is not valid any more, so that no update of it is accepted, nor " + purpose(finalizer)
		f.Next = command.Kubectl("edit") + " " + on(ref)
		return f
	}
	if apierrors.IsInternalError(err) || troubled(err) {
		f.Code = UpdateFails
		f.Message = purpose(finalizer) + " ends in an error of the server"
		f.Next = command.Kubectl("get") + " --raw '/readyz?verbose'"
	}
	return f
}

// invalidFields tells fields that validation rejects from what a policy rejects,
// which names none.
func invalidFields(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !asStatus(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, c := range status.Status().Details.Causes {
		if c.Field != "" {
			return true
		}
	}
	return false
}
