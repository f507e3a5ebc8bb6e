package deprecation

import (
	"unicode/utf8"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// MaxText is the longest that a text of this package is, in bytes. The API server cuts
// warnings to 256 bytes once there are many, and the name of the object comes before
// it.
const MaxText = 200

// line makes one line of an untrusted text, of a length that fits a warning.
func line(s string) string {
	return text.Truncate(text.OneLine(s), MaxText)
}

// shorten removes the excess over that many bytes from the middle of a text.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	keep := max(0, most-len(text.Ellipsis))
	begin := head(s, keep/2)
	rest := s[len(s)-(keep-len(begin)):]
	for rest != "" && !utf8.RuneStart(rest[0]) {
		rest = rest[1:]
	}
	return begin + text.Ellipsis + rest
}

// head returns at most that many bytes of a longer text, without splitting a character.
func head(s string, most int) string {
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
