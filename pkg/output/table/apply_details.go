package table

import (
	"fmt"
	"math"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const actionWidth = len(event.Configured)

func applyLine(base output.Base, b *strings.Builder, action event.Action, text string, details []string) {
	b.WriteString(base.Paint.Action(action, format.Pad(string(action), actionWidth)) + "  " + text + "\n")
	for _, detail := range details {
		b.WriteString("    " + detail + "\n")
	}
}

// details returns the notes on an applied object: how the apply changed the ownership of its
// fields. They fit into room columns; 0 means any width.
func details(b output.Base, a event.Applied, room int) []string {
	var all []string
	most := manyPaths
	removed := a.Removed
	if b.Verbose || len(a.Adopted) > 0 {
		most = math.MaxInt // A takeover names all changes.
	}
	if !b.Verbose {
		removed = withoutLastApplied(removed, a.Adopted)
	}
	all = append(all, paths("removed", removed, most, room, func(c managedfields.Change, room int) []string {
		note, end := was(c, room), ","
		if len(c.Owners) == 0 {
			return note
		}
		if len(note) == 0 {
			end = ""
		}
		return append(withCommas("owned by ", format.Owners(c.Owners, b.Now()), end), note...)
	})...)
	all = append(all, paths("kept", a.Released, most, room, func(c managedfields.Change, _ int) []string {
		if len(c.Owners) == 0 {
			return []string{"by no one: it is yielded"}
		}
		return withCommas("by ", format.Owners(c.Owners, b.Now()), "")
	})...)
	all = append(all, paths("taken", a.Taken, most, room, func(c managedfields.Change, room int) []string {
		if c.From == nil && c.To == nil {
			return withCommas("from ", format.Owners(c.Owners, b.Now()), "")
		}
		return append(withCommas("from ", format.Owners(c.Owners, b.Now()), ":"), fromTo(c, room)...)
	})...)
	all = append(all, format.Causes(brief(b, a.Causes))...)
	all = append(all, paths("yielded", pathsOf(a.Yielded), most, room, nil)...)
	if b.Verbose {
		all = append(all, paths("left", changesLeft(a.Left), most, room, func(c managedfields.Change, _ int) []string {
			return withCommas("to ", format.Owners(c.Owners, b.Now()), "")
		})...)
		for _, manager := range a.Adopted {
			all = append(all, "adopted  the fields of "+text.Printable(manager))
		}
	}
	return all
}

func joined(a event.Applied) string {
	verb := "joined"
	if a.DryRun {
		verb = "would join"
	}
	said := verb + " " + a.Joined.Set
	if len(a.Joined.From) > 0 {
		said += ", taken from " + strings.Join(a.Joined.From, " and ")
	}
	return said
}

// paths lists the first changes of one kind, each on a line with a note, which goes below the path
// if there is no room beside it.
func paths(verb string, changes []managedfields.Change, most, room int, note func(managedfields.Change, int) []string) []string {
	const indent = "    " // below the path
	shown := changes[:min(most, len(changes))]
	var rows []string
	for _, c := range shown {
		row := format.Pad(verb, len("removed")) + "  " + text.Printable(c.Path.String())
		if c.Atomic {
			row += " (atomic)"
		}
		if note == nil {
			rows = append(rows, row)
			continue
		}
		whole := strings.TrimRight(row+"  "+strings.Join(note(c, 0), " "), " ")
		if room <= 0 || format.Cells(whole) <= room {
			rows = append(rows, whole)
			continue
		}
		rows = append(rows, row)
		beside := max(room-len(indent), format.LeastValue)
		for _, part := range format.Flow(note(c, beside), beside) {
			rows = append(rows, indent+part)
		}
	}
	if more := len(changes) - len(shown); more > 0 {
		rows = append(rows, fmt.Sprintf("%s  and %s", format.Pad(verb, len("removed")), text.Count(more, "more path")))
	}
	return rows
}

// withCommas joins words with commas into parts of a line, with a text before the first and after
// the last.
func withCommas(before string, words []string, after string) []string {
	listed := commas(words)
	if len(listed) == 0 {
		return []string{before + after}
	}
	listed[0] = before + listed[0]
	listed[len(listed)-1] += after
	return listed
}

func was(c managedfields.Change, _ int) []string {
	if c.From == nil || managedfields.IsLastApplied(c.Path) {
		return nil
	}
	if c.Kind == managedfields.Changed {
		from, to := format.ShortenPair(format.Value(c.From), format.Value(c.To))
		return []string{"was " + from + ",", "now " + to}
	}
	return []string{"was " + format.Shorten(format.Value(c.From))}
}

func fromTo(c managedfields.Change, room int) []string {
	const arrow = "→ "
	from, to := values(c.From, c.To, true)
	if room > 0 {
		from, to = cutPair(from, to, room-format.Cells(arrow), room-format.Cells(arrow))
	}
	return []string{from, arrow + to}
}

func changesLeft(left []managedfields.Conflict) []managedfields.Change {
	changes := make([]managedfields.Change, len(left))
	for i, c := range left {
		changes[i] = c.Change()
	}
	return changes
}

func pathsOf(paths []fieldpath.Path) []managedfields.Change {
	changes := make([]managedfields.Change, len(paths))
	for i, path := range paths {
		changes[i].Path = path
	}
	return changes
}

func commas(words []string) []string {
	listed := make([]string, len(words))
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		listed[i] = word
	}
	return listed
}
