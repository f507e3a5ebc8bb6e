package text

import (
	"strings"
	"unicode/utf8"
)

// Ellipsis stands for what was cut out of a text.
const Ellipsis = "…"

const (
	// excerptHead and excerptTail are how many characters an excerpt keeps of a longer
	// text: the beginning says what happened, the end mostly why.
	excerptHead = 180
	excerptTail = 160
)

// Excerpt is OneLine with the middle of a long text left out.
func Excerpt(s string) string {
	return ends(OneLine(s), excerptHead, excerptTail, excerptHead+excerptTail, " "+Ellipsis+" ")
}

// Truncate cuts a text at its end to at most so many bytes, and never splits a
// character.
func Truncate(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	end := max(bytes-len(Ellipsis), 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + Ellipsis
}

// TruncateMiddle cuts a text in its middle to so many characters: two names often
// differ only at the end.
func TruncateMiddle(s string, characters int) string {
	characters = max(characters, 1)
	head := characters / 2
	return ends(s, head, characters-head-1, characters, Ellipsis)
}

// ends returns both ends of a text that has more than so many characters.
func ends(s string, head, tail, most int, between string) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	return string(runes[:head]) + between + string(runes[len(runes)-tail:])
}
