package text

import (
	"fmt"
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
