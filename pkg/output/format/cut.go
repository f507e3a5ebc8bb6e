package format

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

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
