package redact

import (
	"strings"
	"unicode/utf8"
)

const (
	// A value shorter than realLength is masked only in texts about its own Secret. Other values
	// shorter than anyPlace are masked only as whole words.
	realLength = 6
	anyPlace   = 8
)

// index finds forms of secret values by their first bytes. Entries are small, because a run may
// read ten thousand Secrets with fifty forms each.
type index struct {
	// the latest entry for the first bytes of a form
	first   map[uint64]int32
	entries []entry
	// filter contains a bit for each hash of a form's first bytes, so that most places in a text
	// need no look-up. heads contains a bit for each shorter prefix of a form.
	filter, heads []uint64
	sure          int
	longest       int
}

type entry struct {
	form string
	// next links to an older entry with the same first bytes: it is that entry's position plus one,
	// or 0 if there is none.
	next int32
	// sure means that the form is unmistakable. The [Writer] therefore also masks it in the final
	// output.
	sure bool
}

func newIndex() index {
	return index{first: map[uint64]int32{}, filter: make([]uint64, 1<<filterBits/64), heads: make([]uint64, 1<<filterBits/64)}
}

const filterBits = 20

// number returns the first realLength bytes as a number. It must be inlined, because it is called
// for each byte of a text.
func number(text string) uint64 {
	_ = text[realLength-1]
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 |
		uint64(text[3])<<24 | uint64(text[4])<<32 | uint64(text[5])<<40
}

func shortNumber(text string) uint64 {
	n := uint64(len(text)) << 56
	for i := range len(text) {
		n |= uint64(text[i]) << (8 * i)
	}
	return n
}

func bit(n uint64) (word, mask uint64) {
	hash := n * 0x9e3779b97f4a7c15 >> (64 - filterBits)
	return hash / 64, 1 << (hash % 64)
}

func has(filter []uint64, n uint64) bool {
	word, mask := bit(n)
	return filter[word]&mask != 0
}

func set(filter []uint64, n uint64) {
	word, mask := bit(n)
	filter[word] |= mask
}

func (x *index) add(form string, sure bool) {
	if len(form) < realLength {
		return
	}
	n := number(form)
	for at := x.first[n]; at > 0; at = x.entries[at-1].next {
		if e := &x.entries[at-1]; e.form == form {
			if sure && !e.sure {
				e.sure = true
				x.sure++
			}
			return
		}
	}
	x.entries = append(x.entries, entry{form, x.first[n], sure})
	x.first[n] = int32(len(x.entries))
	if sure {
		x.sure++
	}
	set(x.filter, n)
	for short := 1; short < realLength; short++ {
		set(x.heads, shortNumber(form[:short]))
	}
	x.longest = max(x.longest, len(form))
}

// forms contains the forms in an index, or only the sure ones if onlySure is set.
type forms struct {
	*index
	onlySure bool
}

func (x forms) none() bool { return len(x.entries) == 0 || x.onlySure && x.sure == 0 }

func (x forms) beginning(text string, f func(form string) bool) {
	for at := x.first[number(text)]; at > 0; at = x.entries[at-1].next {
		if e := &x.entries[at-1]; (e.sure || !x.onlySure) && !f(e.form) {
			return
		}
	}
}

// mask masks the forms in a text. Overlapping matches are usually pieces of one value, so they
// become one mask.
func (x forms) mask(text string, names *nameSet) string {
	if x.none() {
		return text
	}
	var b strings.Builder
	done := 0
	for from, to := x.nextMatch(text, 0, names); from < to; from, to = x.nextMatch(text, to, names) {
		b.WriteString(text[done:from])
		b.WriteString(Mask)
		done = to
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// nextMatch returns the next run of overlapping forms, or an empty one if there is none.
func (x forms) nextMatch(text string, at int, names *nameSet) (from, to int) {
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

func (x forms) match(text string, at int, names *nameSet) int {
	if !has(x.filter, number(text[at:])) { // This excludes most places.
		return 0
	}
	best := 0
	x.beginning(text[at:], func(form string) bool {
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
		return true
	})
	return best
}

// open returns the position of a form that may begin in the text and continue after it, or the
// length of the text.
func (x forms) open(text string) int {
	for at := max(0, len(text)-x.longest); at < len(text); at++ {
		rest := text[at:]
		if len(rest) < realLength {
			if has(x.heads, shortNumber(rest)) {
				return at
			}
			continue
		}
		if !has(x.filter, number(rest)) {
			continue
		}
		cut := false
		x.beginning(rest, func(form string) bool {
			cut = len(rest) < len(form) && strings.HasPrefix(form, rest)
			return !cut
		})
		if cut {
			return at
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

// breaksOff reports whether a text may have been truncated just before its remainder (rest).
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

// isWhole reports whether a part of a text is a whole word, with no letter or digit next to it.
func isWhole(text string, from, to int) bool {
	last, _ := utf8.DecodeLastRuneInString(text[:from])
	next, _ := utf8.DecodeRuneInString(text[to:])
	return !isWord(last) && !isWord(next)
}

// isAlone reports whether the part is everything between two quotes or after an equals sign.
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
