package printer

import (
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// pathGap sets the values apart from the path, which is what one copies.
const pathGap = "     "

// leastValue is the fewest columns in which a value still says something.
const leastValue = 10

// report writes every conflict of the run, then once what can be done.
func (t *applyTable) report(b *strings.Builder, conflicts []event.Applied) {
	width := 0
	if t.Width != nil {
		width = t.Width()
	}
	for i, a := range conflicts {
		if i > 0 || t.written {
			b.WriteString("\n")
		}
		b.WriteString(t.paint.action(a.Action, string(a.Action)) + "  " + label(a.Ref) + "\n")
		shown := a.Conflicts
		if len(shown) > 2*manyPaths && !t.Verbose {
			shown = shown[:2*manyPaths]
		}
		small, large := splitLarge(shown)
		for _, row := range append(conflictRows(small, t.Now(), width), t.largeRows(large, width)...) {
			b.WriteString("  " + row + "\n")
		}
		if more := len(a.Conflicts) - len(shown); more > 0 {
			b.WriteString("  and " + count(more, "path") + " more\n")
		}
		for _, line := range explain(a.Err) {
			b.WriteString("  " + line + "\n")
		}
		for _, detail := range t.details(a) {
			b.WriteString("  " + detail + "\n")
		}
	}
	b.WriteString("\n")
	for _, line := range advice(conflicts, t.nothingWritten(), t.inFlags()) {
		b.WriteString(line + "\n")
	}
}

// sameValue says of a conflict that no value would change.
const sameValue = "the same value in two spellings"

// row is one contested path, ready to be laid out.
type row struct {
	path, yours, live string
	owners            []string
}

func (r row) owner() string { return strings.Join(r.owners, ", ") }

// conflictRows lays contested paths out in columns. Where the terminal is too
// narrow even after values were cut, a path stands alone and the rest below it:
// paths are never cut, for they are to be copied.
func conflictRows(conflicts []managedfields.Conflict, now time.Time, width int) []string {
	rows := make([]row, len(conflicts))
	var path, yours, live, owned int
	for i, c := range conflicts {
		r := row{path: clean(c.Path.String()), owners: owners(c.Owners, now)}
		if c.SameValue {
			r.owners = append(r.owners, sameValue)
		}
		r.yours, r.live = values(c.Yours, c.Live, c.HasLive)
		r.yours, r.live = cutPair(r.yours, r.live, longest, longest)
		rows[i] = r
		path, owned = max(path, cells(r.path)), max(owned, cells(r.owner()))
		yours, live = max(yours, cells(r.yours)), max(live, cells(r.live))
	}
	fixed := len("  ") + path + len(pathGap+"yours   live   ") + owned
	if width > 0 {
		room := width - fixed
		if room < min(yours, leastValue)+min(live, leastValue) {
			return stacked(rows, width)
		}
		yours, live = share(room, yours, live)
	}
	var laid []string
	for _, r := range rows {
		r.yours, r.live = cutPair(r.yours, r.live, yours, live)
		laid = append(laid, strings.TrimRight(pad(r.path, path)+pathGap+
			"yours "+pad(r.yours, yours)+"  live "+pad(r.live, live)+"  "+r.owner(), " "))
	}
	return laid
}

// share divides columns among two that want a and b: who wants less than half
// gets all of it.
func share(room, a, b int) (int, int) {
	if a+b <= room {
		return a, b
	}
	half := room / 2
	switch {
	case a <= half:
		return a, room - a
	case b <= half:
		return room - b, b
	default:
		return half, room - half
	}
}

// stacked writes each path on a line of its own and, below it, as much on a line
// as there is room for.
func stacked(rows []row, width int) []string {
	const indent = "    "
	gap := func(line string) string {
		if strings.HasSuffix(line, ",") {
			return " "
		}
		return "  "
	}
	room := max(width-len("  "+indent), leastValue)
	var laid []string
	for _, r := range rows {
		laid = append(laid, r.path)
		least := max(room-len("yours "), leastValue)
		yours, live := cutPair(r.yours, r.live, least, least)
		line := ""
		for _, part := range append([]string{"yours " + yours, "live " + live}, commas(r.owners)...) {
			switch {
			case line == "":
				line = part
			case cells(line+gap(line)+part) <= room:
				line += gap(line) + part
			default:
				laid = append(laid, indent+line)
				line = part
			}
		}
		laid = append(laid, indent+line)
	}
	return laid
}

// commas appends one to each word but the last.
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
