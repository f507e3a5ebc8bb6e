package unready

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// unread is what could not be read, and why. A Ref without a name means all objects of the
// kind in the namespace, or in the cluster.
type unread struct {
	ref object.Ref
	err error
}

// unread says what could not be read: there may be causes in it, too (edge case 67).
func (v *rules) unread() []rule.Finding {
	var forbidden, failed []unread
	for _, u := range v.unreadRefs() {
		if apierrors.IsForbidden(u.err) {
			forbidden = append(forbidden, u)
		} else {
			failed = append(failed, u)
		}
	}
	var found []rule.Finding
	if len(forbidden) > 0 {
		first := forbidden[0].ref
		found = append(found, rule.Finding{Rank: rule.Doubt, Cause: event.Cause{
			Code:     "NotAllowed",
			Doubt:    true,
			Message:  "the state of these is unknown, because they may not be read: " + text.List(whats(forbidden), 5),
			Evidence: errorLines(forbidden),
			Next:     rule.Kubectl(first.Namespace, "auth", "can-i", verb(first), resourceOf(first)),
		}})
	}
	if len(failed) > 0 {
		found = append(found, rule.Finding{Rank: rule.Doubt, Cause: event.Cause{
			Code:     "Unreadable",
			Doubt:    true,
			Message:  "the state of these is unknown, because they could not be read: " + text.List(whats(failed), 5),
			Evidence: errorLines(failed),
		}})
	}
	return found
}

// stated quotes what an object says of itself, where nothing below it could be read: the
// status of a workload often has the reason, and at least says how far it is.
func stated(u *unstructured.Unstructured) []rule.Finding {
	r := object.RefOf(u)
	var said []readiness.Statement
	for _, s := range readiness.Read(u.Object) {
		if !s.Old && s.Meaning >= readiness.NotYet {
			said = append(said, s)
		}
	}
	if len(said) == 0 {
		return nil
	}
	slices.SortStableFunc(said, func(a, b readiness.Statement) int { return int(b.Meaning) - int(a.Meaning) })
	c := event.Cause{Code: "StatusSays", Message: rule.Name(r) + ": its status says: " + text.Excerpt(said[0].String()), Next: rule.Describe(r)}
	for _, s := range said[:min(len(said), 5)] {
		c.Evidence = append(c.Evidence, evidence(s))
	}
	return []rule.Finding{{Rank: rule.Direct, Cause: c}}
}

// unreadRefs returns what got no answer, each once.
func (v *rules) unreadRefs() []unread {
	var all []unread
	for q, err := range v.Unanswered() {
		r := object.Ref{GVK: q.GVK, Namespace: q.Namespace}
		if q.Verb == diagnose.Get || q.Verb == diagnose.Exists {
			r.Name = q.Name
		}
		if !slices.ContainsFunc(all, func(u unread) bool { return u.ref == r }) {
			all = append(all, unread{r, err})
		}
	}
	return all
}

// whats returns the names of what was to be read, each kind once: a kind that may not be
// listed in the cluster is not named again for its namespaces and objects.
func whats(all []unread) []string {
	everywhere := map[schema.GroupKind]bool{}
	for _, u := range all {
		if u.ref.Namespace == "" && u.ref.Name == "" {
			everywhere[u.ref.GVK.GroupKind()] = true
		}
	}
	var out []string
	for _, u := range all {
		if !everywhere[u.ref.GVK.GroupKind()] || u.ref.Namespace == "" && u.ref.Name == "" {
			out = append(out, what(u.ref))
		}
	}
	slices.Sort(out)
	return out
}

func errorLines(all []unread) []string {
	var out []string
	for _, u := range all {
		out = append(out, text.Excerpt(u.err.Error()))
	}
	slices.Sort(out)
	return out[:min(len(out), 5)]
}

func verb(r object.Ref) string {
	if r.Name == "" {
		return "list"
	}
	return "get"
}

// what returns the name of what was to be read.
func what(r object.Ref) string {
	plural, _ := meta.UnsafeGuessKindToResource(r.GVK)
	switch {
	case r.Name != "":
		return rule.Name(r)
	case r.Namespace != "":
		return plural.Resource + " in " + r.Namespace
	default:
		return plural.Resource
	}
}

// resourceOf returns a kind, or one object of it, in the notation of kubectl auth can-i.
func resourceOf(r object.Ref) string {
	plural, _ := meta.UnsafeGuessKindToResource(r.GVK)
	text := plural.Resource
	if r.GVK.Group != "" {
		text += "." + r.GVK.Group
	}
	if r.Name != "" {
		text += "/" + r.Name
	}
	return text
}
