package format

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// longestWord is the longest word, in bytes, that is shown whole. A CA certificate has more
	// than a thousand, which tell a reader nothing.
	longestWord = 512
	// keptOfWord is how much of a longer word is shown, keptBefore how much of it before the first
	// difference.
	keptOfWord = 48
	keptBefore = 16
)

// Shorten truncates words that are too long to read, and adds their length.
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

// ShortenPair is [Shorten] for two lines. If they would become equal, it shows where they differ.
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

// around shortens a long word to the surroundings of a byte.
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

// size formats the length of a string: "1,234 bytes".
func size(s string) string {
	digits := strconv.Itoa(len(s))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " bytes"
}
