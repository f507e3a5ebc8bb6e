package unready

import (
	"errors"

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
	var found []finding
	for _, u := range v.Unread {
		c := event.Cause{
			Code:      "Unreadable",
			Message:   what(u.Ref) + " could not be read; what is the matter there is unknown",
			Evidence:  []string{clean(u.Err.Error())},
			BlockedBy: u.Ref,
		}
		if u.Ref.Name == "" {
			c.BlockedBy = object.Ref{}
		}
		if apierrors.IsForbidden(u.Err) {
			verb := "list"
			if u.Ref.Name != "" {
				verb = "get"
			}
			c.Code = "NotAllowed"
			c.Message = what(u.Ref) + " may not be read (" + verb + "); what is the matter there is unknown"
			c.Next = kubectl(u.Ref.Namespace, "auth", "can-i", verb, resourceOf(u.Ref))
		}
		found = append(found, finding{Cause: c, rank: doubt})
	}
	return found
}

// what names what was to be read.
func what(r object.Ref) string {
	switch {
	case r.Name != "":
		return name(r)
	case r.Namespace != "":
		return "the objects of kind " + r.GVK.Kind + " in namespace " + r.Namespace
	default:
		return "the objects of kind " + r.GVK.Kind
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
