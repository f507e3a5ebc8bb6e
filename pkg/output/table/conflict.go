package table

import (
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const widestColumn = 60

// report writes every conflict of the run, then the ways to settle them. opening says how far the
// run got.
func report(base output.Base, b *strings.Builder, conflicts []event.Applied, opening string) {
	width := format.Columns(base.Width)
	for i, a := range conflicts {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(base.Paint.Action(a.Action, string(a.Action)) + "  " + format.Name(a.Ref) + "\n")
		shown := a.Conflicts
		if len(shown) > 2*manyPaths && !base.Verbose {
			shown = shown[:2*manyPaths]
		}
		small, large := splitLarge(shown)
		for _, row := range append(conflictRows(small, base.Now(), width), largeRows(base, large, width)...) {
			b.WriteString("  " + row + "\n")
		}
		if more := len(a.Conflicts) - len(shown); more > 0 {
			b.WriteString("  and " + text.Count(more, "more path") + "\n")
		}
		format.Below(b, base.Hints.ErrorLines(a.Err, width), "  ", base.Width)
		for _, detail := range details(base, a, format.Within(base.Width, "  ")) {
			b.WriteString("  " + detail + "\n")
		}
	}
	b.WriteString("\n")
	for _, line := range resolutions(conflicts, opening, base.State.InFlags()) {
		b.WriteString(line + "\n")
	}
}

type row struct {
	path, yours, live string
	owners            []string
}

func (r row) owner() string { return strings.Join(r.owners, ", ") }

// conflictRows lays out paths in conflict in columns. On a terminal that is too narrow, each path
// gets its own line, with the rest below. Paths are never shortened, because users copy them;
// values only if they are longer than a line.
func conflictRows(conflicts []managedfields.Conflict, now time.Time, width int) []string {
	rows := make([]row, len(conflicts))
	var path, yours, live, owned int
	for i, c := range conflicts {
		r := row{path: text.Printable(c.Path.String()), owners: format.Owners(c.Owners, now)}
		if c.SameValue {
			r.owners = append(r.owners, format.SameValue)
		}
		r.yours, r.live = values(c.Yours, c.Live, c.HasLive)
		rows[i] = r
		path, owned = max(path, format.Cells(r.path)), max(owned, format.Cells(r.owner()))
		yours, live = max(yours, format.Cells(r.yours)), max(live, format.Cells(r.live))
	}
	if width > 0 && len("  ")+path+len(pathGap+"yours   live   ")+owned+yours+live > width {
		return stacked(rows, width)
	}
	// Without a terminal, one very long value must not move all others.
	yours, live = min(yours, widestColumn), min(live, widestColumn)
	var laid []string
	for _, r := range rows {
		laid = append(laid, strings.TrimRight(format.Pad(r.path, path)+pathGap+
			"yours "+format.Pad(r.yours, yours)+"  live "+format.Pad(r.live, live)+"  "+r.owner(), " "))
	}
	return laid
}

// stacked writes each path on its own line, with as much as fits on each line below.
func stacked(rows []row, width int) []string {
	const indent = "    "
	room := max(width-len("  "+indent), format.LeastValue)
	var laid []string
	for _, r := range rows {
		laid = append(laid, r.path)
		least := max(room-len("yours "), format.LeastValue)
		yours, live := cutPair(r.yours, r.live, least, least)
		for _, line := range format.Flow(append([]string{"yours " + yours, "live " + live}, commas(r.owners)...), room) {
			laid = append(laid, indent+line)
		}
	}
	return laid
}
