package printer

import "strings"

// below writes lines below another, indented, and no longer than the terminal is
// wide.
func below(b *strings.Builder, text []string, indent string, width func() int) {
	columns := 0
	if width != nil {
		columns = width()
	}
	all := make([]string, len(text))
	for i, line := range text {
		all[i] = indent + line
	}
	for _, line := range wrap(all, columns) {
		b.WriteString(line + "\n")
	}
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
		if line[i] != ' ' {
			continue
		}
		if best >= 0 && cells(line[:i]) > width {
			break
		}
		best = i
	}
	return best
}
