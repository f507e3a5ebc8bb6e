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
	const ellipsis = "…"
	end := MaxText - len(ellipsis)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + ellipsis
}
