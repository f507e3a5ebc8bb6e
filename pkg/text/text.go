// Package text makes single lines out of untrusted texts: [Printable] for names, [OneLine] for
// prose, [Excerpt] for evidence, [ShellQuote] for words of a command; [Nearest] suggests a word.
// Characters that a terminal would obey are spelled out (docs/design/text.md). It has no messages
// and knows no terminal width.
package text

import (
	"fmt"
	"strconv"
	"strings"
)

// ShellQuote quotes a word such that a POSIX shell reads it unchanged.
//
// A word with unprintable characters takes the form $'…' with octal numbers, which a
// terminal shows and pastes without obeying it. bash, zsh, ksh and any shell that
// follows POSIX of 2024 read it back to the byte. An older shell reads another word,
// one that names nothing, and runs no part of it: there is no quote inside.
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

// Count returns "1 object", "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// List names at most so many, and how many more there are: "a, b and 3 more".
func List(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
}

// Distinct returns each of the items once, in their order.
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
