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
	Objects []pastObject `json:"objects"`
}

type pastObject struct {
	objectName
	// Revisions is omitted for a kind that has none.
	Revisions *[]revisionEntry    `json:"revisions,omitempty"`
	History   *[]event.Transition `json:"history,omitempty"`
	Dropped   int                 `json:"historyDropped,omitempty"`
	Lost      int                 `json:"historyLost,omitempty"`
	Coverage  *event.Coverage     `json:"historyCoverage,omitempty"`
	Error     *fault              `json:"historyError,omitempty"`
	Deletions []deletionEntry     `json:"deletions,omitempty"`
}

type deletionsResult struct {
	header
	Deletions []deletionEntry `json:"deletions"`
	Dropped   int             `json:"dropped,omitempty"`
	Until     time.Time       `json:"droppedUntil,omitzero"`
	Coverage  event.Coverage  `json:"coverage"`
	Limits    []string        `json:"limits,omitempty"`
}

type deletionEntry struct {
	objectName
	UID     string                `json:"uid"`
	Asked   time.Time             `json:"asked,omitzero"`
	Gone    time.Time             `json:"gone,omitzero"`
	By      string                `json:"by"`
	User    string                `json:"user,omitempty"`
	Several bool                  `json:"several,omitempty"`
	Via     *viaEntry             `json:"via,omitempty"`
	Owners  []managedfields.Owner `json:"owners,omitempty"`
	Gap     bool                  `json:"gap,omitempty"`
}

type viaEntry struct {
	Kind string `json:"kind"`
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
		var b strings.Builder
		b.WriteString("| Deletion | Cause | Last owners |\n| --- | --- | --- |\n")
		for _, one := range d.Found {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", inMarkdown(format.DeletionHead(one)), inMarkdown(format.DeletionCause(one)), inMarkdown(format.OwnerList(one.Owners, time.Time{})))
		}
		for _, line := range format.DeletionsDropped(d) {
			b.WriteString("\n" + inMarkdown(line) + "\n")
		}
		return b.String()
	})
}

type revisionEntry struct {
	// Revision is omitted if the template is not rolled out yet.
	Revision    int64            `json:"revision,omitempty"`
	Kept        any              `json:"kept,omitempty"`
	Live        bool             `json:"live,omitempty"`
	Reason      event.RollReason `json:"reason"`
	Time        time.Time        `json:"time,omitzero"`
	After       time.Time        `json:"after,omitzero"`
	Of          int64            `json:"of,omitempty"`
	Since       int64            `json:"since,omitempty"`
	ChangeCause string           `json:"changeCause,omitempty"`
	Changes     []revisionChange `json:"changes"`
}

type revisionChange struct {
	changedPath
	Order bool `json:"order,omitempty"`
	// Writer is null if it is unknown.
	Writer *managedfields.Owner `json:"writer"`
	Time   time.Time            `json:"time,omitzero"`
	User   string               `json:"user,omitempty"`
}

// NewPast returns the document of the "history" verb.
func NewPast(b output.Base) output.Results {
	return output.Together(func(all []event.Past) error {
		out := pastResult{header: newHeader(b, "HistoryResult"), Objects: []pastObject{}}
		for _, p := range all {
			out.Objects = append(out.Objects, pastOf(p))
		}
		return writeDocument(b, out)
	})
}

func pastOf(p event.Past) pastObject {
	o := pastObject{objectName: nameOf(p.Ref), Deletions: deletionsOf(p.Deletions)}
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
	for _, d := range p.Deletions {
		b.WriteString("- " + inMarkdown(format.DeletionHead(d)+", "+format.DeletionCause(d)) + "\n")
	}
	return b.String()
}
