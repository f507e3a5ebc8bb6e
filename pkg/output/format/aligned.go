package format

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

const between = "   "

// Aligned lays rows out in columns. If they are wider than the terminal, it narrows the widest
// columns, down to [LeastValue], and wraps their cells. Without a terminal, each row is one line.
func Aligned(rows [][]string, width func() int) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Cells(cell))
		}
	}
	narrow(widths, Columns(width))
	var b strings.Builder
	for _, row := range rows {
		cells := make([][]string, len(row))
		height := 1
		for i, cell := range row {
			cells[i] = folded(cell, widths[i])
			height = max(height, len(cells[i]))
		}
		for at := range height {
			var line strings.Builder
			for i, lines := range cells {
				part := ""
				if at < len(lines) {
					part = lines[at]
				}
				line.WriteString(Pad(part, widths[i]) + between)
			}
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
	return b.String()
}

func narrow(widths []int, columns int) {
	if columns <= 0 {
		return
	}
	excess := len(between)*(len(widths)-1) - columns
	for _, w := range widths {
		excess += w
	}
	for ; excess > 0; excess-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= LeastValue {
			return
		}
		widths[widest]--
	}
}

// folded wraps a cell, and indents each line like the first. It breaks between words, else after
// punctuation in a name, else anywhere.
func folded(cell string, width int) []string {
	if Cells(cell) <= width {
		return []string{cell}
	}
	rest := strings.TrimLeft(cell, " ")
	indent := cell[:len(cell)-len(rest)]
	room := max(width-len(indent), 1)
	var out []string
	for Cells(rest) > room {
		at := breakAt(rest, room)
		out = append(out, indent+strings.TrimRight(rest[:at], " "))
		rest = strings.TrimLeft(rest[at:], " ")
	}
	if rest != "" {
		out = append(out, indent+rest)
	}
	return out
}

// breakAt returns where to break a line that is too long, after at least one character.
func breakAt(s string, room int) int {
	blank, mark, end, used := 0, 0, 0, 0
	for letters := displaywidth.StringGraphemes(s); letters.Next(); {
		letter := letters.Value()
		if letter == " " && end > 0 {
			blank = end // It may be just behind the line.
		}
		if used += letters.Width(); used > room {
			if end == 0 {
				end = len(letter)
			}
			break
		}
		end += len(letter)
		if strings.ContainsAny(letter, "-./,:@") {
			mark = end
		}
	}
	switch {
	case blank > 0:
		return blank
	case mark > 0:
		return mark
	default:
		return end
	}
}
