package format

import (
	"strings"
)

const between = "   "

// Aligned arranges rows in columns. On a narrow terminal, it wraps the cells of the widest columns
// between words. A word that is wider than its column, such as a name, stays whole: the cells to the
// right of it begin on the next line.
func Aligned(rows [][]string, width func() int) string {
	var widths, words []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths, words = append(widths, 0), append(words, 0)
			}
			widths[i] = max(widths[i], Cells(cell))
			words[i] = max(words[i], longestOf(cell))
		}
	}
	columns := Columns(width)
	narrow(widths, words, columns)
	var b strings.Builder
	for _, row := range rows {
		for _, line := range alignedRow(row, widths, columns) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return b.String()
}

// AlignedFirst returns the first of the tables in which each row fits on a line. If there is none, it
// wraps the last one. The tables show the same rows, each with less than the one before.
func AlignedFirst(width func() int, tables ...[][]string) string {
	last := len(tables) - 1
	for _, rows := range tables[:last] {
		if whole := Aligned(rows, width); strings.Count(whole, "\n") == len(rows) {
			return whole
		}
	}
	return Aligned(tables[last], width)
}

// alignedRow places the cells of a row. Each cell begins on the first line that is free from its
// column on, counted from the line on which the cell before it begins.
func alignedRow(row []string, widths []int, columns int) []string {
	var lines []string
	from, at := 0, 0
	for i, cell := range row {
		for n, part := range folded(cell, widths[i], columns) {
			start := at
			if columns > 0 {
				start = max(0, min(at, columns-Cells(part))) // A wider word begins further to the left.
			}
			for from+n < len(lines) && usedOf(lines[from+n]) > max(0, start-len(between)) {
				from++
			}
			if from+n == len(lines) {
				lines = append(lines, "")
			}
			lines[from+n] = Pad(strings.TrimRight(lines[from+n], " "), start) + part
		}
		at += widths[i] + len(between)
	}
	return lines
}

func usedOf(line string) int { return Cells(strings.TrimRight(line, " ")) }

// longestOf returns the width of the longest word of a cell, with the cell's indent.
func longestOf(cell string) int {
	rest := strings.TrimLeft(cell, " ")
	longest := 0
	for word := range strings.SplitSeq(rest, " ") {
		longest = max(longest, Cells(word))
	}
	return len(cell) - len(rest) + longest
}

// narrow makes the widest columns narrower until the row fits: first those that can be wrapped
// between words, and then those with the longest words.
func narrow(widths, words []int, columns int) {
	if columns <= 0 {
		return
	}
	excess := len(between)*(len(widths)-1) - columns
	for _, w := range widths {
		excess += w
	}
	for _, least := range [][]int{words, make([]int, len(words))} {
		for excess > 0 {
			widest := -1
			for i, w := range widths {
				if w > max(least[i], LeastValue) && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
			excess--
		}
	}
}

// folded wraps a cell between words. It breaks a word only if it is wider than the terminal: after
// punctuation if possible, or else anywhere.
func folded(cell string, width, terminal int) []string {
	if Cells(cell) <= width {
		return []string{cell}
	}
	rest := strings.TrimLeft(cell, " ")
	indent := cell[:len(cell)-len(rest)]
	columns := max(width-len(indent), 1)
	var out []string
	for Cells(rest) > columns {
		at := breakAt(rest, columns)
		if word, _, _ := strings.Cut(rest, " "); at < len(word) {
			if at = len(word); terminal > 0 && Cells(word) > terminal-len(indent) {
				at = breakAt(word, max(terminal-len(indent), 1))
			}
		}
		out = append(out, indent+strings.TrimRight(rest[:at], " "))
		rest = strings.TrimLeft(rest[at:], " ")
	}
	if rest != "" {
		out = append(out, indent+rest)
	}
	return out
}
