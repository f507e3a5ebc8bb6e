package format

import (
	"strconv"
	"strings"
	"unicode/utf8"

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

// Cells returns the width of a text in columns. It ignores the locale, so that output is the same
// everywhere.
func Cells(s string) int { return displaywidth.String(s) }

// Pad pads a text to a width in columns.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Cells(s)))
}

// Cut truncates a text to a width in columns.
func Cut(s string, width int) string {
	return displaywidth.TruncateString(s, max(width, 1), text.Ellipsis)
}

// CutMiddle shortens a text to a width in columns and keeps both ends: two images or addresses
// often differ only at the end.
func CutMiddle(s string, width int) string {
	if Cells(s) <= width {
		return s
	}
	tail := max(0, (width-1)/2)
	head := Cut(s, max(1, width-tail))
	return head + cutStart(s, tail)
}

func cutStart(s string, width int) string {
	rest := Cells(s)
	for letters := displaywidth.StringGraphemes(s); rest > width && letters.Next(); {
		rest -= letters.Width()
		s = s[len(letters.Value()):]
	}
	return s
}

const (
	// longestWord is the longest word, in bytes, that is shown whole.
	longestWord = 512
	// A longer word is shortened to keptOfWord bytes. If it is compared with another word,
	// keptBefore of these bytes precede the first difference.
	keptOfWord = 48
	keptBefore = 16
)

// Shorten truncates words that are too long to read, and appends their length.
func Shorten(line string) string {
	if len(line) <= longestWord {
		return line
	}
	words := strings.Split(line, " ")
	for i, word := range words {
		if len(word) > longestWord {
			words[i] = text.Truncate(word, keptOfWord+len(text.Ellipsis)) + " " + size(word)
		}
	}
	return strings.Join(words, " ")
}

// ShortenPair shortens two lines as [Shorten] does, but keeps a difference between them visible.
func ShortenPair(a, b string) (string, string) {
	if sa, sb := Shorten(a), Shorten(b); a == b || sa != sb {
		return sa, sb
	}
	as, bs := strings.Split(a, " "), strings.Split(b, " ")
	for i := range min(len(as), len(bs)) {
		if as[i] == bs[i] {
			continue
		}
		n := 0
		for n < len(as[i]) && n < len(bs[i]) && as[i][n] == bs[i][n] {
			n++
		}
		as[i], bs[i] = around(as[i], n), around(bs[i], n)
	}
	return Shorten(strings.Join(as, " ")), Shorten(strings.Join(bs, " "))
}

func around(word string, at int) string {
	if len(word) <= longestWord {
		return word
	}
	from := max(0, at-keptBefore)
	for from > 0 && !utf8.RuneStart(word[from]) {
		from--
	}
	before := text.Ellipsis
	if from == 0 {
		before = ""
	}
	return before + text.Truncate(word[from:], keptOfWord+len(text.Ellipsis)) + " " + size(word)
}

func size(s string) string {
	digits := strconv.Itoa(len(s))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " bytes"
}
