package unready

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// unknown tells whether the object, or all of the kind, could not be read.
func (v *view) unknown(r object.Ref) bool {
	for _, u := range v.Unread {
		if u.Ref.Key() == r.Key() {
			return true
		}
	}
	return false
}

// unread says what could not be looked at: there may be causes in it, too (edge
// case 67).
func (v *view) unread() []finding {
	var forbidden, failed []Unread
	for _, u := range v.Unread {
		if apierrors.IsForbidden(u.Err) {
			forbidden = append(forbidden, u)
		} else {
			failed = append(failed, u)
		}
	}
	var found []finding
	if len(forbidden) > 0 {
		first := forbidden[0].Ref
		found = append(found, finding{rank: doubt, Cause: event.Cause{
			Code:     "NotAllowed",
			Message:  "what is the matter with these is unknown, because they may not be read: " + some(whats(forbidden), 5),
			Evidence: errorLines(forbidden),
			Next:     kubectl(first.Namespace, "auth", "can-i", verb(first), resourceOf(first)),
		}})
	}
	if len(failed) > 0 {
		found = append(found, finding{rank: doubt, Cause: event.Cause{
			Code:     "Unreadable",
			Message:  "what is the matter with these is unknown, because they could not be read: " + some(whats(failed), 5),
			Evidence: errorLines(failed),
		}})
	}
	return found
}

func whats(all []Unread) []string {
	var out []string
	for _, u := range all {
		out = append(out, what(u.Ref))
	}
	slices.Sort(out)
	return out
}

func errorLines(all []Unread) []string {
	var out []string
	for _, u := range all {
		out = append(out, clean(u.Err.Error()))
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

// what names what was to be read.
func what(r object.Ref) string {
	plural, _ := meta.UnsafeGuessKindToResource(r.GVK)
	switch {
	case r.Name != "":
		return name(r)
	case r.Namespace != "":
		return plural.Resource + " in " + r.Namespace
	default:
		return plural.Resource
	}
}

// resourceOf names a kind, or one object of it, as kubectl auth can-i takes it.
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

// notServed tells whether the server does not have the kind at all.
func notServed(err error) bool {
	var group *meta.NoResourceMatchError
	return meta.IsNoMatchError(err) || errors.As(err, &group)
}
