package redact

import (
	"strings"
	"unicode/utf8"
)

const (
	// realLength is the length from which a value is masked everywhere; below anyPlace
	// only as a whole word.
	realLength = 6
	anyPlace   = 8
)

// index finds forms in a text by their first bytes. It grows while in use, which an
// automaton does not, and costs one look-up for each byte of a text.
type index struct {
	forms map[[realLength]byte][]string
	// filter has a bit for each hash of the first bytes of a form: most places of a text
	// need no look-up.
	filter []uint64
	known  map[string]bool
	// heads are all beginnings of forms that are too short for forms.
	heads map[string]bool
	// longest form, in bytes.
	longest int
}

func newIndex() index {
	return index{
		forms: map[[realLength]byte][]string{}, known: map[string]bool{}, heads: map[string]bool{},
		filter: make([]uint64, 1<<filterBits/64),
	}
}

const filterBits = 20

// bit returns the place in the filter for the first bytes of a text.
func bit(text string) (word, mask uint64) {
	_ = text[realLength-1]
	n := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 |
		uint64(text[3])<<24 | uint64(text[4])<<32 | uint64(text[5])<<40
	hash := n * 0x9e3779b97f4a7c15 >> (64 - filterBits)
	return hash / 64, 1 << (hash % 64)
}

// beginning returns the forms that share their beginning with a text.
func (x *index) beginning(text string) []string {
	if word, mask := bit(text); x.filter[word]&mask == 0 {
		return nil
	}
	return x.forms[[realLength]byte([]byte(text[:realLength]))]
}

func (x *index) add(form string) {
	if len(form) < realLength || x.known[form] {
		return
	}
	x.known[form] = true
	key := [realLength]byte([]byte(form[:realLength]))
	if len(x.forms[key]) == 0 {
		for n := 1; n < realLength; n++ {
			x.heads[form[:n]] = true
		}
	}
	x.forms[key] = append(x.forms[key], form)
	word, mask := bit(form)
	x.filter[word] |= mask
	x.longest = max(x.longest, len(form))
}

// mask replaces every form. Overlapping matches become one mask: they are mostly pieces
// of one value.
func (x *index) mask(text string, names *nameSet) string {
	if len(x.forms) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for from, to := x.next(text, 0, names); from < to; from, to = x.next(text, to, names) {
		b.WriteString(text[done:from])
		b.WriteString(Mask)
		done = to
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// next returns the first stretch of forms that begins at or after a place; an empty one
// if there is none.
func (x *index) next(text string, at int, names *nameSet) (from, to int) {
	for ; at+realLength <= len(text) && (to == 0 || at < to); at++ {
		n := x.match(text, at, names)
		switch {
		case n > 0 && to == 0:
			from, to = at, at+n
		case n > 0:
			to = max(to, at+n)
		}
	}
	return from, to
}

// match returns how many bytes of a form begin at a place of the text; 0 if none does.
func (x *index) match(text string, at int, names *nameSet) int {
	best := 0
	for _, form := range x.beginning(text[at:]) {
		n := common(text[at:], form)
		switch {
		case n <= best || names.cover(text, at, at+n):
		case n < len(form):
			if breaksOff(text[at+n:]) {
				best = n
			}
		case isPlainWord(form):
			if isAlone(text, at, at+n) {
				best = n
			}
		case n >= anyPlace || isWhole(text, at, at+n):
			best = n
		}
	}
	return best
}

// open returns where a possible form begins that the end of the text cuts off; the
// length of the text if there is none.
func (x *index) open(text string) int {
	for at := max(0, len(text)-x.longest); at < len(text); at++ {
		rest := text[at:]
		if len(rest) < realLength {
			if x.heads[rest] {
				return at
			}
			continue
		}
		for _, form := range x.beginning(rest) {
			if len(rest) < len(form) && strings.HasPrefix(form, rest) {
				return at
			}
		}
	}
	return len(text)
}

func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// breaksOff reports whether a text ends where its rest was cut off.
func breaksOff(rest string) bool {
	if rest == "" {
		return true
	}
	rest = strings.TrimLeft(rest, " ")
	for _, mark := range []string{"…", "...", "[truncated"} {
		if strings.HasPrefix(rest, mark) {
			return true
		}
	}
	return false
}

// isWhole reports whether no letter or digit adjoins a part of a text.
func isWhole(text string, from, to int) bool {
	last, _ := utf8.DecodeLastRuneInString(text[:from])
	next, _ := utf8.DecodeRuneInString(text[to:])
	return !isWord(last) && !isWord(next)
}

// isAlone reports whether a part of a text is all that stands in quotes or behind an equals
// sign.
func isAlone(text string, from, to int) bool {
	const quotes = "\"'`"
	if from == 0 || to == len(text) {
		return from > 0 && text[from-1] == '=' || from == 0 && to == len(text)
	}
	before := text[from-1]
	if before == '=' {
		return isWhole(text, from, to)
	}
	return strings.IndexByte(quotes, before) >= 0 && strings.IndexByte(quotes+"\\", text[to]) >= 0
}
