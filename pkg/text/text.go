// Package text makes untrusted text safe to print: [Printable] for names, [OneLine] for prose,
// [Excerpt] for evidence, [ShellQuote] for commands. It escapes characters that a terminal would
// interpret (docs/design/text.md). It never looks at the terminal's width.
package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ShellQuote quotes a word for a POSIX shell.
//
// A word with unprintable characters becomes $'…' with octal escapes, which a terminal does not
// interpret. bash, zsh, ksh and shells of POSIX 2024 decode the escapes. Older shells read a
// different word, but they execute no part of it, because the encoded word contains no quote.
func ShellQuote(word string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-…", r)
	}
	switch {
	case word != "" && !strings.ContainsFunc(word, special):
		return word
	case Printable(word) == word:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range strings.SplitAfter(word, "") {
		if c != "'" && c != `\` && Printable(c) == c {
			b.WriteString(c)
			continue
		}
		for i := range len(c) {
			fmt.Fprintf(&b, `\%03o`, c[i])
		}
	}
	return b.String() + "'"
}

// Count returns a count with its noun: "1 object", "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// List joins at most the given number of names: "a, b and 3 more".
func List(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
}

// Distinct removes duplicates and keeps the order.
func Distinct[T comparable](items []T) []T {
	seen := map[T]bool{}
	var out []T
	for _, item := range items {
		if !seen[item] {
			seen[item] = true
			out = append(out, item)
		}
	}
	return out
}

// Printable escapes unprintable characters as in a Go string, including invalid UTF-8 and marks
// that change the direction of text. It does not escape the listed characters (keep).
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

// OneLine turns prose into a single line. It removes terminal sequences and escapes other
// unprintable characters.
func OneLine(s string) string {
	return Printable(strings.Join(strings.Fields(withoutSequences(s)), " "))
}

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

// Ellipsis replaces text that was removed.
const Ellipsis = "…"

const (
	// An excerpt keeps this many characters from the beginning and the end of a text. The end
	// usually gives the reason.
	excerptHead = 180
	excerptTail = 160
)

// Excerpt is like OneLine, but removes the middle of a long text.
func Excerpt(s string) string {
	return ends(OneLine(s), excerptHead, excerptTail, excerptHead+excerptTail, " "+Ellipsis+" ")
}

// Truncate shortens a text to the given number of bytes without splitting a character.
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

// TruncateMiddle removes the middle of a long text, because two names often differ only at the end.
func TruncateMiddle(s string, characters int) string {
	characters = max(characters, 1)
	head := characters / 2
	return ends(s, head, characters-head-1, characters, Ellipsis)
}

func ends(s string, head, tail, most int, between string) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	return string(runes[:head]) + between + string(runes[len(runes)-tail:])
}
