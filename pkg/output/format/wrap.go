package format

import "strings"

// LeastValue is the fewest columns in which a value is still useful.
const LeastValue = 10

// Below writes indented lines, wrapped to the width of the terminal.
func Below(b *strings.Builder, text []string, indent string, width func() int) {
	columns := Columns(width)
	all := make([]string, len(text))
	for i, line := range text {
		all[i] = indent + line
	}
	for _, line := range Wrap(all, columns) {
		b.WriteString(line + "\n")
	}
}

// Columns returns the width of a terminal; 0 if there is none.
func Columns(width func() int) int {
	if width == nil {
		return 0
	}
	return width()
}

// Within returns the width that an indent leaves; 0 means any width.
func Within(width func() int, indent string) int {
	columns := Columns(width)
	if columns <= 0 {
		return 0
	}
	return max(columns-Cells(indent), LeastValue)
}

// Flow fills lines with as many parts as fit. It shortens a part only if the part is longer than a
// line.
func Flow(parts []string, room int) []string {
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
		case Cells(line+gap+part) <= room:
			line += gap + part
		default:
			out = append(out, CutMiddle(line, room))
			line = part
		}
	}
	return append(out, CutMiddle(line, room))
}

// Wrap breaks lines that are too wide between words, and indents the continuation like the line.
// Commands stay whole, so that they can be copied. A width of 0 breaks nothing.
func Wrap(text []string, width int) []string {
	if width <= 0 {
		return text
	}
	var out []string
	for _, line := range text {
		rest := strings.TrimLeft(line, " ")
		if Cells(line) <= width || strings.HasPrefix(rest, "next ") || strings.HasPrefix(rest, "or    ") {
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

// Fit makes a multi-line text printable, as [Plain] does, and wraps it to the width of the
// terminal. head begins the first line. Lines with a command stay whole, so that they can be
// copied.
func Fit(head, text string, width func() int) string {
	columns := Columns(width)
	indent := len(head) - len(strings.TrimLeft(head, " ")) + len("  ")
	var out []string
	for i, line := range Lines(text) {
		if i == 0 {
			line = head + line
		}
		if columns <= 0 || Cells(line) <= columns || hasCommand(line) {
			out = append(out, line)
			continue
		}
		out = append(out, wrapped(line, indent, columns)...)
	}
	return strings.Join(out, "\n")
}

// verbs are the verbs that may follow kubectl in a command. "kubectl " without a verb may be the
// name of a field manager.
const verbs = " annotate api-resources api-versions apply attach auth autoscale certificate cluster-info completion" +
	" config cordon cp create debug delete describe diff drain edit events exec explain expose get k8sconnect kustomize" +
	" label logs options patch plugin port-forward proxy replace rollout run scale set taint top uncordon version wait "

func hasCommand(line string) bool {
	for {
		_, rest, found := strings.Cut(line, "kubectl ")
		if !found {
			return false
		}
		verb, _, _ := strings.Cut(rest, " ")
		if verb = strings.TrimRight(verb, ",.;:)"); verb != "" && strings.Contains(verbs, " "+verb+" ") {
			return true
		}
		line = rest
	}
}

func wrapped(line string, indent, width int) []string {
	var out []string
	blanks := strings.Repeat(" ", indent)
	for Cells(line) > width {
		at := lastBlank(line, indent, width)
		if at < 0 {
			break
		}
		out = append(out, line[:at])
		line = blanks + strings.TrimLeft(line[at:], " ")
	}
	return append(out, line)
}

// lastBlank returns the last blank after the indent up to which the line fits, else the first
// blank; -1 if there is none.
func lastBlank(line string, indent, width int) int {
	best := -1
	for i := indent + 1; i < len(line); i++ {
		if line[i] != ' ' || strings.HasPrefix(line[i:], " -n ") || strings.HasSuffix(line[:i], " -n") {
			continue // The name of an object stays in one piece.
		}
		if best >= 0 && Cells(line[:i]) > width {
			break
		}
		best = i
	}
	return best
}
