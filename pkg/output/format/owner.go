package format

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Owner names an owner and its operation: "kube-controller-manager (scale)", "kubectl-edit (Update,
// 1h ago)". An update of a subresource is usual and not spelled out.
func Owner(o managedfields.Owner, now time.Time) string {
	name, how := ownerParts(o, now)
	return name + how
}

// OwnerWithin is Owner in at most that many columns, 0 for any number. It cuts the name as long as
// something of it remains.
func OwnerWithin(o managedfields.Owner, now time.Time, width int) string {
	const least = 8
	name, how := ownerParts(o, now)
	room := width - Cells(how)
	switch {
	case width == 0:
		return name + how
	case room < least:
		return CutMiddle(name+how, width)
	default:
		return CutMiddle(name, room) + how
	}
}

// ownerParts returns the manager's name and, in brackets, its operation and time.
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

// Owners names several owners.
func Owners(list []managedfields.Owner, now time.Time) []string {
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = Owner(o, now)
	}
	return names
}

// OwnerList names several owners on one line.
func OwnerList(list []managedfields.Owner, now time.Time) string {
	return strings.Join(Owners(list, now), ", ")
}

// Stamp formats a time as logs do.
func Stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
