package deprecation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxText is how long a text of this package is at most, in bytes. The API server
// cuts warnings to 256 bytes once there are many, and the name of the object comes
// before it.
const MaxText = 200

// line makes one line of a text that may be anybody's: control characters, and those
// that change the direction of what follows, become spaces, and what is too long ends
// in an ellipsis.
func line(s string) string {
	if len(s) > 4*MaxText { // Whatever is behind that is cut anyhow.
		s = s[:4*MaxText]
	}
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= MaxText {
		return s
	}
	return strings.TrimRight(head(s, MaxText-len(ellipsis)), " ") + ellipsis
}

const ellipsis = "…"

// shorten takes so much out of the middle of a text that it has at most so many bytes.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	keep := max(0, most-len(ellipsis))
	begin := head(s, keep/2)
	rest := s[len(s)-(keep-len(begin)):]
	for rest != "" && !utf8.RuneStart(rest[0]) {
		rest = rest[1:]
	}
	return begin + ellipsis + rest
}

// head returns at most so many bytes of a longer text, and no half character.
func head(s string, most int) string {
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
