package format

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// LeastValue is the smallest number of columns in which a value is still useful.
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

// Columns returns the width of a terminal, or 0 if there is none.
func Columns(width func() int) int {
	if width == nil {
		return 0
	}
	return width()
}

// Within returns the width that an indent leaves; 0 means no limit.
func Within(width func() int, indent string) int {
	columns := Columns(width)
	if columns <= 0 {
		return 0
	}
	return max(columns-Cells(indent), LeastValue)
}

// Flow fills each line with as many parts as fit. It shortens a part only if that part is longer
// than a line.
func Flow(parts []string, columns int) []string {
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
		case Cells(line+gap+part) <= columns:
			line += gap + part
		default:
			out = append(out, CutMiddle(line, columns))
			line = part
		}
	}
	return append(out, CutMiddle(line, columns))
}

// Wrap breaks lines between words and keeps their indent. It does not break commands, so that users
// can copy them. A width of 0 breaks nothing.
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

// Fit makes a multi-line text printable and wraps it to the width of the terminal. The first line
// begins with head.
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

// lastBlank returns the position of the last blank at which the line can be broken so that the text
// before the blank fits. If no blank is early enough, it returns the position of the first blank.
// If there is no blank, it returns -1.
func lastBlank(line string, indent, width int) int {
	best := -1
	for i := indent + 1; i < len(line); i++ {
		if line[i] != ' ' || strings.HasPrefix(line[i:], " -n ") || strings.HasSuffix(line[:i], " -n") {
			continue // Do not break the name of an object.
		}
		if best >= 0 && Cells(line[:i]) > width {
			break
		}
		best = i
	}
	return best
}

func breakAt(s string, columns int) int {
	blank, mark, end, used := 0, 0, 0, 0
	for letters := displaywidth.StringGraphemes(s); letters.Next(); {
		letter := letters.Value()
		if letter == " " && end > 0 {
			blank = end // The blank may directly follow the last character that fits.
		}
		if used += letters.Width(); used > columns {
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

// Lines splits a text into printable lines, without trailing blanks and without empty lines at the
// end.
func Lines(s string) []string {
	var cleaned []string
	for line := range strings.Lines(strings.TrimSpace(s)) {
		line = strings.TrimRight(line, " \t\r\n")
		cleaned = append(cleaned, text.Printable(strings.ReplaceAll(line, "\t", "    ")))
	}
	return cleaned
}

// Plain makes a multi-line text printable on a terminal.
func Plain(s string) string { return strings.Join(Lines(s), "\n") }
