package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// brief is how many columns a value may take in a line that tells how far the run
// is; results have all of it, as far as there is room.
const brief = 60

// value shows one value on one line, at full length: strings as they are, and
// quoted only where they could be taken for something else; all others as JSON.
func value(v any) string {
	s, ok := v.(string)
	if !ok {
		return text.Printable(compact(v))
	}
	if line, rest := firstLine(s); rest > 0 {
		return fmt.Sprintf("%s%s (+%s)", text.Printable(line), text.Ellipsis, text.Count(rest, "line"))
	}
	if ambiguous(s) {
		return strconv.Quote(s)
	}
	return s
}

// values shows the two sides of a conflict such that their difference is seen:
// of texts with many lines, the first line in which they differ.
func values(yours, live any, hasLive bool) (string, string) {
	if !hasLive {
		return value(yours), "(none)"
	}
	a, aok := yours.(string)
	b, bok := live.(string)
	if !aok || !bok || !strings.Contains(a, "\n") || !strings.Contains(b, "\n") {
		return value(yours), value(live)
	}
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return lineOf(as, n), lineOf(bs, n)
}

func lineOf(lines []string, n int) string {
	if n >= len(lines) {
		return "(" + text.Count(len(lines), "line") + ")"
	}
	return fmt.Sprintf("line %d: %s", n+1, text.Printable(lines[n]))
}

// cutPair shortens two values to a number of columns each. Where that would make
// them look the same, what is kept is the place at which they differ.
func cutPair(a, b string, aw, bw int) (string, string) {
	ca, cb := cutValue(a, aw), cutValue(b, bw)
	if a == b || ca != cb {
		return ca, cb
	}
	ar, br := []rune(a), []rune(b)
	n := 0
	for n < len(ar) && n < len(br) && ar[n] == br[n] {
		n++
	}
	from := max(0, n-min(aw, bw)/3)
	return cut(text.Ellipsis+string(ar[from:]), aw), cut(text.Ellipsis+string(br[from:]), bw)
}

// cutValue shortens a value to a number of columns.
func cutValue(s string, width int) string {
	if cells(s) > width {
		if image, ok := cutImage(s, width); ok {
			return image
		}
	}
	return cutMiddle(s, width)
}

func firstLine(s string) (string, int) {
	s = strings.TrimRight(s, "\n")
	line, rest, more := strings.Cut(s, "\n")
	if !more {
		return line, 0
	}
	return line, 1 + strings.Count(rest, "\n")
}

// ambiguous reports whether a string, shown without quotes, could be read as
// another value, as no value at all, or not be read.
func ambiguous(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || s != text.Printable(s) {
		return true
	}
	return strings.ContainsRune(`"'{[(`, rune(s[0])) || json.Valid([]byte(s))
}

// compact is the JSON of a value. What JSON cannot say never came from a
// cluster, and is shown as Go shows it.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
