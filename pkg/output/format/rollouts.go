package format

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Moment formats a time for comparison with logs, and adds its age for people.
func Moment(at, now time.Time) string {
	return Stamp(at) + " (" + duration.ShortHumanDuration(max(0, now.Sub(at))) + " ago)"
}

// RevisionName names a revision, and says whether the object has its template now.
func RevisionName(r event.Revision) string {
	switch {
	case r.Number == 0:
		return "not rolled out yet"
	case r.Live:
		return "revision " + number(r.Number) + ", now"
	}
	return "revision " + number(r.Number)
}

// RevisionTime says when a revision was made, as far as that is known.
func RevisionTime(r event.Revision, now time.Time) string {
	switch {
	case !r.Time.IsZero():
		return Moment(r.Time, now)
	case !r.After.IsZero():
		return "after " + Stamp(r.After)
	}
	return ""
}

// RevisionReason says why a revision was made.
func RevisionReason(r event.Revision) string {
	switch r.Reason {
	case event.RollCreated:
		return "created"
	case event.RollRestart:
		return "rollout restart"
	case event.RollUndo:
		if r.Of == 0 {
			return "undo: an earlier template again"
		}
		return "undo: the template of revision " + number(r.Of) + " again"
	case event.RollImagePolicy:
		writers := make([]string, 0, len(r.Changes))
		for _, c := range r.Changes {
			writers = append(writers, Manager(c.Writer.Manager))
		}
		slices.Sort(writers)
		return "image policy of " + strings.Join(slices.Compact(writers), ", ")
	case event.RollImages:
		return "image changed"
	case event.RollUnknown:
		return "unknown: the revision before it is no longer kept"
	case event.RollTemplate:
	}
	return "template changed"
}

// RevisionNotes returns further lines about a revision.
func RevisionNotes(r event.Revision) (lines []string) {
	if r.Since > 0 && r.Number > r.Since+1 {
		line := "compared with revision " + number(r.Since) + ": those between are no longer kept"
		if r.Kept.GVK.Kind == "ControllerRevision" {
			line += ", or got a later number by an undo"
		}
		lines = append(lines, line)
	}
	if r.ChangeCause != "" {
		lines = append(lines, "kubernetes.io/change-cause: "+text.Printable(r.ChangeCause))
	}
	return lines
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// RevisionValues says how the value at a path changed.
func RevisionValues(c managedfields.Change) string {
	switch {
	case c.Order:
		return "order  " + Value(c.From) + " → " + Value(c.To)
	case c.Kind == managedfields.Added:
		return "added  " + Value(c.To)
	case c.Kind == managedfields.Removed:
		return "removed  " + Value(c.From)
	}
	return Value(c.From) + " → " + Value(c.To)
}

// RevisionWriter says who made a change, as far as that is known.
func RevisionWriter(c event.RevisionChange, now time.Time) string {
	at := ""
	if !c.Time.IsZero() {
		at = ", " + Stamp(c.Time)
	}
	if c.Writer == nil {
		if c.User != "" {
			return "by the user " + text.Printable(c.User) + at + "; manager unknown"
		}
		if owners := OwnerList(c.Owners, now); owners != "" {
			return "writer unknown; owned now by " + owners
		}
		return "writer unknown"
	}
	by := *c.Writer
	by.Time = time.Time{}
	return "by " + Owner(by, now) + at + "; user: " + cmp.Or(text.Printable(c.User), "unknown")
}
