package format

import (
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// DeletionHead says which object was deleted, and when. An object that a finalizer may hold up is not
// called gone.
func DeletionHead(d event.Deletion) string {
	switch {
	case d.Gone.IsZero() && d.Asked.IsZero():
		return "deletion asked, not seen gone  " + Name(d.Ref)
	case d.Gone.IsZero():
		return Stamp(d.Asked) + "  deletion asked, not seen gone  " + Name(d.Ref)
	case d.Gap:
		return "before " + Stamp(d.Gone) + "  deleted  " + Name(d.Ref)
	}
	return Stamp(d.Gone) + "  deleted  " + Name(d.Ref)
}

// DeletionCause says who deleted an object, as far as that is known.
func DeletionCause(d event.Deletion) string {
	via := ""
	if d.Via != "" {
		via = text.Printable(strings.ToLower(d.ViaKind) + "/" + d.Via)
	}
	switch {
	case d.Several:
		return "by one of several users who asked at the same time"
	case d.By == "namespace":
		return "with its " + via
	case d.By == "owner" && via != "":
		return "with its owner " + via + ", by the garbage collector"
	case d.By == "owner":
		return "by the garbage collector"
	case d.By == "controller":
		return "by the controller " + text.Printable(d.User)
	case d.User != "":
		return "by the user " + text.Printable(d.User)
	case via != "":
		return "user unknown, perhaps the garbage collector: it had the owner " + via
	}
	return "user unknown: the API server did not ask the webhook"
}

// DeletionCauseAt is like DeletionCause, with the time of the request if the object went later.
func DeletionCauseAt(d event.Deletion) string {
	cause := DeletionCause(d)
	if !d.Gone.IsZero() && !d.Asked.IsZero() && d.Gone.Sub(d.Asked) >= time.Second {
		cause += ", asked at " + Stamp(d.Asked)
	}
	return cause
}

// DeletionLines returns a deletion for people.
func DeletionLines(d event.Deletion) []string {
	lines := []string{DeletionHead(d), "    " + DeletionCauseAt(d)}
	if owners := OwnerList(d.Owners, time.Time{}); owners != "" {
		lines = append(lines, "    last owners: "+owners)
	}
	return lines
}

// MissingNotes says, of an object that does not exist, when its deletion would have been recorded. They are
// empty if it was recorded, and no later one can be missing.
func MissingNotes(p event.Past, now time.Time) []string {
	d := p.Deletions
	if !p.Missing || len(d.Found) > 0 && len(d.Coverage.Gaps) == 0 && !d.Coverage.Stale && d.Dropped == 0 {
		return nil
	}
	return DeletionsSummary(d, now)
}

// DeletionsSummary counts a list of deletions, and says what may be missing from it. If it is empty, that
// includes what happened after the webhook last saved its progress: it may be down since then.
func DeletionsSummary(d event.Deletions, now time.Time) []string {
	count := text.Count(len(d.Found), "deletion") + text.Printable(d.Where)
	if !d.From.IsZero() {
		count += " since " + Moment(d.From, now)
	}
	lines := append([]string{count}, Coverage(d.Coverage, now)...)
	if until := d.Coverage.Until; len(d.Found) == 0 && !until.IsZero() && !d.Coverage.Stale {
		lines = append(lines, "progress last saved at "+Moment(until, now)+"; a later deletion may not be recorded yet")
	}
	for _, limit := range d.Limits {
		lines = append(lines, text.Printable(limit))
	}
	if d.Dropped > 0 {
		lines = append(lines, text.Count(d.Dropped, "more deletion")+" did not fit into the records, the latest at "+Stamp(d.Until))
	}
	return lines
}
