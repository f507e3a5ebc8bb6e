package table

import (
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// diffNotes returns notes on what the diff of an object does not show, and counts its conflicts.
func diffNotes(b output.Base, c event.Compared) (notes []string, contested int) {
	notes = remarks(b, c)
	removed := 0
	all := b.Verbose || len(c.Adopted) > 0 // For a takeover, list all changes.
	changes := c.Changes
	if !b.Verbose {
		changes = withoutLastApplied(changes, c.Adopted)
	}
	anew := c.Action == event.Recreate
	for _, change := range changes {
		if change.Kind == managedfields.Removed && (anew || len(change.Owners) == 0 && !change.Atomic) {
			// Only the first few of these removals get a note, because the diff already shows them,
			// or because many are alike.
			if removed++; removed > manyPaths && !all {
				continue
			}
		}
		if change.Kind == managedfields.Contested {
			contested++
		}
		if note := diffNote(change, anew, b.Now()); note != "" {
			notes = append(notes, note)
		}
	}
	if more := removed - manyPaths; more > 0 && !all {
		notes = append(notes, "removed    and "+text.Count(more, "more path"))
	}
	for _, path := range c.Yielded {
		notes = append(notes, "yielded    "+text.Printable(path.String())+"  keeps its live value")
	}
	if b.Verbose {
		for _, manager := range c.Adopted {
			notes = append(notes, "adopted    the fields of "+text.Printable(manager))
		}
	}
	return notes, contested
}

// diffNote names the owners of a path if they matter. anew means that the object would be recreated
// and would lose the fields owned only by others.
func diffNote(c managedfields.Change, anew bool, now time.Time) string {
	word, whose := string(c.Kind), ""
	switch c.Kind {
	case managedfields.Contested:
		whose = "owned by "
	case managedfields.Released:
		whose = "stays, kept by "
	case managedfields.Removed:
		if whose = "also owned by "; anew {
			whose = "owned by "
		}
	case managedfields.TakenOver:
		whose = "from "
	case managedfields.Surplus:
		whose = "added by "
	case managedfields.Added, managedfields.Changed:
		switch {
		case len(c.Owners) > 0: // Others own a value that changes, without a conflict.
			word, whose = string(managedfields.TakenOver), "from "
		case !c.Atomic:
			return ""
		}
	}
	text := fmt.Sprintf("%-9s  %s", word, text.Printable(c.Path.String()))
	if c.SameValue {
		text += " (" + format.SameValue + ")"
	}
	if c.Atomic {
		text += " (atomic: one value, replaced as a whole)"
	}
	if c.Kind == managedfields.Released && len(c.Owners) == 0 {
		text += "  stays, without an owner, because you yielded it"
	}
	if c.Kind == managedfields.Surplus {
		text += "  " + whose + strings.Join(format.AddedBy(c.Owners, now), ", ")
	} else if len(c.Owners) > 0 {
		text += "  " + whose + format.OwnerList(c.Owners, now)
	}
	return text
}

func remarks(b output.Base, c event.Compared) []string {
	columns := format.Columns(b.Width)
	if c.Err != nil && c.Reason == c.Err.Error() {
		return b.Hints.ErrorLines(c.Err, columns)
	}
	return append(format.Lines(c.Reason), b.Hints.ErrorLines(c.Err, columns)...)
}
