package document

import (
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

type pastResult struct {
	header
	// Each object with its history.
	Objects []pastObject `json:"objects"`
}

type pastObject struct {
	objectName
	// The newest first. Omitted for a kind that has none.
	Revisions *[]revisionEntry `json:"revisions,omitempty"`
	// As in an OwnersResult, without the changes that belong to a revision.
	History *[]event.Transition `json:"history,omitempty"`
	// How many transitions did not fit into the record.
	Dropped int `json:"historyDropped,omitempty"`
	// How many transitions the webhook could not record.
	Lost int `json:"historyLost,omitempty"`
	// When the webhook watched objects of this kind and namespace.
	Coverage *event.Coverage `json:"historyCoverage,omitempty"`
	// Why the history is unknown; replaces history.
	Error *fault `json:"historyError,omitempty"`
	// Deletions of objects with this name, with the newest first. Omitted if the object exists, and none is
	// recorded.
	Deletions *[]deletionEntry `json:"deletions,omitempty"`
	// True if the object does not exist.
	Missing bool `json:"missing,omitempty"`
	// If the object is missing: when the webhook watched deletions.
	DeletionsCoverage *event.Coverage `json:"deletionsCoverage,omitempty"`
	// Limits of the deletions.
	DeletionsLimits []string `json:"deletionsLimits,omitempty"`
	// How many deletions in the namespace did not fit into the records.
	DeletionsDropped int `json:"deletionsDropped,omitempty"`
	// When the latest of them happened.
	DeletionsDroppedUntil time.Time `json:"deletionsDroppedUntil,omitzero"`
}

type deletionsResult struct {
	header
	// The newest first.
	Deletions []deletionEntry `json:"deletions"`
	// How many did not fit into the records.
	Dropped int `json:"dropped,omitempty"`
	// When the latest of them happened.
	Until time.Time `json:"droppedUntil,omitzero"`
	// When the webhook watched.
	Coverage event.Coverage `json:"coverage"`
	// Limits of the list.
	Limits []string `json:"limits,omitempty"`
}

type deletionEntry struct {
	objectName
	// The UID of the deleted object.
	UID string `json:"uid"`
	// When the API server asked the webhook.
	Asked time.Time `json:"asked,omitzero"`
	// When the object was gone. Omitted if it may still exist.
	Gone time.Time `json:"gone,omitzero"`
	// The cause: one of user, controller, owner, namespace and unknown.
	By string `json:"by"`
	// The user who asked for the deletion, if the webhook was asked.
	User string `json:"user,omitempty"`
	// True if several users asked at the same time.
	Several bool `json:"several,omitempty"`
	// The owner or the namespace that went. If by is unknown: an owner that the object had.
	Via *viaEntry `json:"via,omitempty"`
	// The last owners of the object's fields.
	Owners []managedfields.Owner `json:"owners,omitempty"`
	// The object went while the webhook was not watching; gone is then too late.
	Gap bool `json:"gap,omitempty"`
}

type viaEntry struct {
	// The kind of the owner, or Namespace.
	Kind string `json:"kind"`
	// The name of the owner or the namespace.
	Name string `json:"name"`
}

// NewDeletions returns the document of deletions.
func NewDeletions(b output.Base) output.Results {
	return output.AtEnd(func(d event.Deletions) error {
		return writeDocument(b, deletionsResult{
			header: newHeader(b, "DeletionsResult"), Deletions: orEmpty(deletionsOf(d.Found)), Dropped: d.Dropped, Until: d.Until,
			Coverage: d.Coverage, Limits: d.Limits,
		})
	})
}

func deletionsOf(all []event.Deletion) []deletionEntry {
	var out []deletionEntry
	for _, d := range all {
		entry := deletionEntry{
			objectName: nameOf(d.Ref), UID: d.UID, Asked: d.Asked, Gone: d.Gone, By: d.By, User: d.User, Several: d.Several, Owners: d.Owners, Gap: d.Gap,
		}
		if d.Via != "" {
			entry.Via = &viaEntry{d.ViaKind, d.Via}
		}
		out = append(out, entry)
	}
	return out
}

// NewDeletionsMarkdown returns the Markdown output of deletions.
func NewDeletionsMarkdown(b output.Base) output.Results {
	return output.Printed(b, func(d event.Deletions) string {
		now := b.Now()
		var b strings.Builder
		b.WriteString("| Deletion | Cause | Last owners |\n| --- | --- | --- |\n")
		for _, one := range d.Found {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", inMarkdown(format.DeletionHead(one)), inMarkdown(format.DeletionCauseAt(one)), inMarkdown(format.OwnerList(one.Owners, time.Time{})))
		}
		for _, line := range format.DeletionsSummary(d, now) {
			b.WriteString("\n" + inMarkdown(line) + "\n")
		}
		return b.String()
	})
}

type revisionEntry struct {
	// Omitted if the template is not rolled out yet.
	Revision int64 `json:"revision,omitempty"`
	// The ReplicaSet or ControllerRevision that has the template.
	Kept any `json:"kept,omitempty"`
	// True if the object has this template now.
	Live bool `json:"live,omitempty"`
	// One of created, restart (by kubectl rollout restart), undo (the template of an earlier revision),
	// image-policy (by a manager that sets only images), images (only images changed), template (another
	// change) and unknown (the revision before is no longer kept).
	Reason event.RollReason `json:"reason"`
	// When the revision was made. Absent if unknown.
	Time time.Time `json:"time,omitzero"`
	// Present if the time is unknown: the revision is newer.
	After time.Time `json:"after,omitzero"`
	// The revision that an undo restores.
	Of int64 `json:"of,omitempty"`
	// The revision with which changes compares.
	Since int64 `json:"since,omitempty"`
	// The annotation kubernetes.io/change-cause.
	ChangeCause string `json:"changeCause,omitempty"`
	// The changed paths of the template.
	Changes []revisionChange `json:"changes"`
}

type revisionChange struct {
	changedPath
	// True if items of a list only changed places; from and to have their keys.
	Order bool `json:"order,omitempty"`
	// Null if it is unknown; owners then has the present owners of the value.
	Writer *managedfields.Owner `json:"writer"`
	// When the path was written. Absent if unknown.
	Time time.Time `json:"time,omitzero"`
	// The user who wrote the path. Absent if unknown.
	User string `json:"user,omitempty"`
}

// NewPast returns the document of the "history" verb.
func NewPast(b output.Base) output.Results {
	return output.Together(func(all []event.Past) error {
		out := pastResult{header: newHeader(b, "PastResult"), Objects: []pastObject{}}
		for _, p := range all {
			out.Objects = append(out.Objects, pastOf(p))
		}
		return writeDocument(b, out)
	})
}

func pastOf(p event.Past) pastObject {
	o := pastObject{objectName: nameOf(p.Ref), Missing: p.Missing}
	if d := p.Deletions; p.Missing || len(d.Found) > 0 {
		entries := orEmpty(deletionsOf(d.Found))
		o.Deletions = &entries
	}
	if d := p.Deletions; p.Missing {
		o.DeletionsCoverage, o.DeletionsLimits, o.DeletionsDropped, o.DeletionsDroppedUntil = &d.Coverage, d.Limits, d.Dropped, d.Until
	}
	if p.Rolls {
		revisions := []revisionEntry{}
		for _, r := range p.Revisions {
			revisions = append(revisions, revisionOf(r))
		}
		o.Revisions = &revisions
	}
	switch h := p.Records; {
	case h == nil:
	case h.Err != nil:
		o.Error = faultOf(h.Err)
	default:
		transitions := orEmpty(h.Transitions)
		o.History, o.Dropped, o.Lost, o.Coverage = &transitions, h.Dropped, h.Lost, &h.Coverage
	}
	return o
}

func revisionOf(r event.Revision) revisionEntry {
	out := revisionEntry{
		Revision: r.Number, Live: r.Live, Reason: r.Reason, Time: r.Time, After: r.After, Of: r.Of, Since: r.Since,
		ChangeCause: r.ChangeCause, Changes: []revisionChange{},
	}
	if r.Kept != (object.Ref{}) {
		out.Kept = r.Kept
	}
	for _, c := range r.Changes {
		change := revisionChange{
			changedPath: changesOf([]managedfields.Change{c.Change})[0], Order: c.Order, Writer: c.Writer, Time: c.Time, User: c.User,
		}
		out.Changes = append(out.Changes, change)
	}
	return out
}

// NewPastMarkdown returns the Markdown output of the "history" verb.
func NewPastMarkdown(b output.Base) output.Results {
	return output.Printed(b, func(p event.Past) string { return pastMarkdown(b, p) })
}

func pastMarkdown(base output.Base, p event.Past) string {
	var b strings.Builder
	b.WriteString("**" + inMarkdown(format.Name(p.Ref)) + "**\n\n")
	if len(p.Revisions) > 0 {
		b.WriteString("| Revision | Time | Reason | Changes |\n| --: | --- | --- | --- |\n")
	}
	for _, r := range p.Revisions {
		var lines []string
		for _, c := range r.Changes {
			lines = append(lines, c.Path.String()+": "+format.RevisionValues(c.Change)+"; "+format.RevisionWriter(c, time.Time{}))
		}
		at := ""
		if !r.Time.IsZero() {
			at = format.Stamp(r.Time)
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", r.Number, at, inMarkdown(format.RevisionReason(r)), inMarkdown(append(lines, format.RevisionNotes(r)...)...))
	}
	if len(p.Revisions) > 0 {
		b.WriteString("\n")
	}
	if h := p.Records; h != nil && h.Err != nil {
		b.WriteString(inMarkdown("changes of owners not known: "+h.Err.Error()) + "\n")
	} else if h != nil && len(h.Transitions) > 0 {
		b.WriteString("| Time | Path | From | To | User |\n| --- | --- | --- | --- | --- |\n")
		for _, t := range h.Transitions {
			path := t.Path
			if t.FromValue != "" {
				path += ": " + t.FromValue + " → " + t.ToValue
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", format.Stamp(t.Last), inMarkdown(path),
				inMarkdown(format.OwnerList(t.From, time.Time{})), inMarkdown(format.OwnerList(t.To, time.Time{})), inMarkdown(t.User))
		}
	}
	for _, d := range p.Deletions.Found {
		line := format.DeletionHead(d) + ", " + format.DeletionCauseAt(d)
		if owners := format.OwnerList(d.Owners, time.Time{}); owners != "" {
			line += "; last owners: " + owners
		}
		b.WriteString("- " + inMarkdown(line) + "\n")
	}
	for _, line := range format.MissingNotes(p, base.Now()) {
		b.WriteString("\n" + inMarkdown(line) + "\n")
	}
	return b.String()
}
