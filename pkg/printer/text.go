package printer

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// ellipsis stands for what was cut out of a text.
const ellipsis = "…"

// clean makes a text fit for one line of a terminal: whatever is not printable
// (escape sequences, line breaks, direction marks, broken UTF-8) is spelled out.
func clean(s string) string {
	return escape(s, func(rune) bool { return false })
}

// escape spells out what is not printable, except for what keep allows.
func escape(s string, keep func(rune) bool) string {
	var b strings.Builder
	for i, width := 0, 0; i < len(s); i += width {
		var r rune
		r, width = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
		case strconv.IsPrint(r) || keep(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// lines cleans a text that may have several lines and returns them, without
// trailing blanks and without empty ones at the end.
func lines(s string) []string {
	var cleaned []string
	for line := range strings.Lines(strings.TrimSpace(s)) {
		line = strings.TrimRight(line, " \t\r\n")
		cleaned = append(cleaned, clean(strings.ReplaceAll(line, "\t", "    ")))
	}
	return cleaned
}

// Plain makes a text of many lines fit for a terminal, as everything here is that
// a printer prints.
func Plain(s string) string { return strings.Join(lines(s), "\n") }

// label names an object, fit for a terminal.
func label(ref object.Ref) string { return clean(ref.String()) }

// cells counts the columns that a text takes. The locale has no say in it, so
// that the same input gives the same output everywhere.
func cells(s string) int { return displaywidth.String(s) }

// pad fills a text up to a number of columns.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-cells(s)))
}

// cut shortens a text at its end to a number of columns.
func cut(s string, width int) string {
	return displaywidth.TruncateString(s, max(width, 1), ellipsis)
}

// cutMiddle shortens a text to a number of columns and keeps both its ends:
// what tells two images or two addresses apart is often the end.
func cutMiddle(s string, width int) string {
	if cells(s) <= width {
		return s
	}
	tail := max(0, (width-1)/2)
	head := cut(s, max(1, width-tail))
	return head + cutStart(s, tail)
}

// cutStart shortens a text at its start to a number of columns.
func cutStart(s string, width int) string {
	rest := cells(s)
	for letters := displaywidth.StringGraphemes(s); rest > width && letters.Next(); {
		rest -= letters.Width()
		s = s[len(letters.Value()):]
	}
	return s
}

// count returns "1 object", "2 objects".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// shellQuote quotes a word such that a POSIX shell reads it unchanged.
func shellQuote(s string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-", r)
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
