package printer

import "strings"

// below writes lines below another, indented, and no longer than the terminal is
// wide.
func below(b *strings.Builder, text []string, indent string, width func() int) {
	columns := columnsOf(width)
	all := make([]string, len(text))
	for i, line := range text {
		all[i] = indent + line
	}
	for _, line := range wrap(all, columns) {
		b.WriteString(line + "\n")
	}
}

// columnsOf measures a terminal; 0 where there is none.
func columnsOf(width func() int) int {
	if width == nil {
		return 0
	}
	return width()
}

// within is the room beside an indent, 0 for any.
func within(width func() int, indent string) int {
	columns := columnsOf(width)
	if columns <= 0 {
		return 0
	}
	return max(columns-cells(indent), leastValue)
}

// flow puts as many parts on a line as there is room for, and only cuts one that has
// not enough with a line of its own.
func flow(parts []string, room int) []string {
	var out []string
	line := ""
	for _, part := range parts {
		gap := "  "
		if strings.HasSuffix(line, ",") || strings.HasSuffix(line, ":") || strings.HasPrefix(part, "→") {
			gap = " "
		}
		switch {
		case line == "":
			line = part
		case cells(line+gap+part) <= room:
			line += gap + part
		default:
			out = append(out, cutMiddle(line, room))
			line = part
		}
	}
	return append(out, cutMiddle(line, room))
}

// wrap breaks lines that are longer than the terminal is wide between their words,
// and indents what follows like what was before. Commands stay whole: they are to be
// copied. A width of 0 breaks nothing.
func wrap(text []string, width int) []string {
	if width <= 0 {
		return text
	}
	var out []string
	for _, line := range text {
		rest := strings.TrimLeft(line, " ")
		if cells(line) <= width || strings.HasPrefix(rest, "next ") {
			out = append(out, line)
			continue
		}
		indent := len(line) - len(rest)
		if strings.HasPrefix(rest, "risk ") {
			indent += len("risk     ")
		}
		out = append(out, wrapped(line, indent, width)...)
	}
	return out
}

// Fit makes a text of many lines fit for a terminal, as [Plain] does, and breaks what is
// longer than that is wide between its words; nil or 0 is none, and any width. head
// begins the first line. A line with a command stays whole: it is to be copied.
func Fit(head, text string, width func() int) string {
	columns := columnsOf(width)
	indent := len(head) - len(strings.TrimLeft(head, " ")) + len("  ")
	var out []string
	for i, line := range lines(text) {
		if i == 0 {
			line = head + line
		}
		if columns <= 0 || cells(line) <= columns || strings.Contains(line, "kubectl ") {
			out = append(out, line)
			continue
		}
		out = append(out, wrapped(line, indent, columns)...)
	}
	return strings.Join(out, "\n")
}

// wrapped breaks one line.
func wrapped(line string, indent, width int) []string {
	var out []string
	blanks := strings.Repeat(" ", indent)
	for cells(line) > width {
		at := lastBlank(line, indent, width)
		if at < 0 {
			break
		}
		out = append(out, line[:at])
		line = blanks + strings.TrimLeft(line[at:], " ")
	}
	return append(out, line)
}

// lastBlank returns the last blank after the indent before which the line fits, or
// the first of all if none does; -1 if there is none.
func lastBlank(line string, indent, width int) int {
	best := -1
	for i := indent + 1; i < len(line); i++ {
		if line[i] != ' ' || strings.HasPrefix(line[i:], " -n ") || strings.HasSuffix(line[:i], " -n") {
			continue // What an object is called stays in one piece.
		}
		if best >= 0 && cells(line[:i]) > width {
			break
		}
		best = i
	}
	return best
}
