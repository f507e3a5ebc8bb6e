package format

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Owner names an owner and its operation: "kube-controller-manager (scale)", "kubectl-edit (Update,
// 1h ago)". It omits Update for a subresource, where that is usual.
func Owner(o managedfields.Owner, now time.Time) string {
	name, how := ownerParts(o, now)
	return name + how
}

// OwnerWithin is Owner in at most width columns; 0 means any width. It shortens the name first, as
// long as some of it remains.
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

// ownerParts returns the manager's name and, in parentheses, its operation and time.
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
		// Clocks differ between machines: a time in the future was just now.
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

// Manager names a manager.
func Manager(name string) string { return Owner(managedfields.Owner{Manager: name}, time.Time{}) }

// OwnerList names several owners on one line.
func OwnerList(list []managedfields.Owner, now time.Time) string {
	return strings.Join(Owners(list, now), ", ")
}

// Stamp formats a time as RFC 3339 in UTC.
func Stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
