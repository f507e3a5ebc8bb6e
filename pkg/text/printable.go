package text

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable spells out what does not print, the way Go writes it in a string: escape
// sequences (\x1b), line breaks (\n), marks that turn the direction of the text (\u202e)
// and broken UTF-8 (\xff). The characters in keep stay as they are.
func Printable(s string, keep ...rune) string {
	var b strings.Builder
	for i, width := 0, 0; i < len(s); i += width {
		var r rune
		r, width = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
		case strconv.IsPrint(r) || slices.Contains(keep, r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// OneLine makes prose one line: runs of white space become one space, escape sequences
// that set colours or move the cursor are removed, and anything else that does not print
// is spelled out as by Printable.
func OneLine(s string) string {
	return Printable(strings.Join(strings.Fields(withoutSequences(s)), " "))
}

// withoutSequences removes whole control sequences, ESC [ … letter: they set the look of
// a text and carry no content.
func withoutSequences(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r < 0x20 || r > 0x3f })
		if end >= 0 && after[end] >= 0x40 && after[end] <= 0x7e {
			s = after[end+1:]
			continue
		}
		b.WriteString("\x1b[")
		s = after
	}
}
