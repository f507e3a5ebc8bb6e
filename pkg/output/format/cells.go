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

// cutStart removes the start of a text to make it fit a width in columns.
func cutStart(s string, width int) string {
	rest := Cells(s)
	for letters := displaywidth.StringGraphemes(s); rest > width && letters.Next(); {
		rest -= letters.Width()
		s = s[len(letters.Value()):]
	}
	return s
}
