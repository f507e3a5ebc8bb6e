package format

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

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

// Plain makes a text of many lines printable on a terminal, as everything in this package is.
func Plain(s string) string { return strings.Join(Lines(s), "\n") }

// Cells counts the columns of a text. It ignores the locale, so that the same input gives the same
// output everywhere.
func Cells(s string) int { return displaywidth.String(s) }

// Pad pads a text to a number of columns.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Cells(s)))
}

// Cut shortens a text at its end to a number of columns.
func Cut(s string, width int) string {
	return displaywidth.TruncateString(s, max(width, 1), text.Ellipsis)
}

// CutMiddle shortens a text to a number of columns and keeps both its ends: two images or addresses
// often differ only at the end.
func CutMiddle(s string, width int) string {
	if Cells(s) <= width {
		return s
	}
	tail := max(0, (width-1)/2)
	head := Cut(s, max(1, width-tail))
	return head + cutStart(s, tail)
}

// cutStart shortens a text at its start to a number of columns.
func cutStart(s string, width int) string {
	rest := Cells(s)
	for letters := displaywidth.StringGraphemes(s); rest > width && letters.Next(); {
		rest -= letters.Width()
		s = s[len(letters.Value()):]
	}
	return s
}
