package printer

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// owner names who holds a path, and how: "kube-controller-manager (scale)",
// "kubectl-edit (Update, 1h ago)". An update of a subresource is the usual case
// and goes without the word.
func owner(o managedfields.Owner, now time.Time) string {
	name, how := ownerParts(o, now)
	return name + how
}

// ownerWithin is owner, and at most so many columns wide, 0 for any number: what is
// cut is the name, as long as something of it remains.
func ownerWithin(o managedfields.Owner, now time.Time, width int) string {
	const least = 8
	name, how := ownerParts(o, now)
	room := width - cells(how)
	switch {
	case width == 0:
		return name + how
	case room < least:
		return cutMiddle(name+how, width)
	default:
		return cutMiddle(name, room) + how
	}
}

// ownerParts returns the manager's name, and in brackets how it owns.
func ownerParts(o managedfields.Owner, now time.Time) (name, brackets string) {
	name = text.Printable(o.Manager)
	if name == "" {
		name = `""`
	}
	var how []string
	if o.Operation != "" && (o.Subresource == "" || o.Operation != managedfields.Update) {
		how = append(how, text.Printable(o.Operation))
	}
	if o.Subresource != "" {
		how = append(how, text.Printable(o.Subresource))
	}
	if !o.Time.IsZero() {
		// The clocks of two machines differ; a change in the future was just now.
		how = append(how, duration.ShortHumanDuration(max(0, now.Sub(o.Time)))+" ago")
	}
	if len(how) == 0 {
		return name, ""
	}
	return name, " (" + strings.Join(how, ", ") + ")"
}

func owners(list []managedfields.Owner, now time.Time) []string {
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = owner(o, now)
	}
	return names
}

func ownerList(list []managedfields.Owner, now time.Time) string {
	return strings.Join(owners(list, now), ", ")
}
