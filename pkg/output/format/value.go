package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// SameValue is the remark on a conflict in which no value would change.
const SameValue = "the same value in two spellings"

// Masked replaces a value of a Secret before the printer sees it.
const Masked = "***"

// Value formats a value on one line, in full: strings as they are, quoted only if they are
// ambiguous; all others as JSON.
func Value(v any) string {
	s, ok := v.(string)
	if !ok {
		return text.Printable(Compact(v))
	}
	if line, rest := firstLine(s); rest > 0 {
		return fmt.Sprintf("%s%s (+%s)", text.Printable(line), text.Ellipsis, text.Count(rest, "line"))
	}
	if ambiguous(s) {
		return strconv.Quote(s)
	}
	return s
}

func firstLine(s string) (string, int) {
	s = strings.TrimRight(s, "\n")
	line, rest, more := strings.Cut(s, "\n")
	if !more {
		return line, 0
	}
	return line, 1 + strings.Count(rest, "\n")
}

// ambiguous reports whether a string without quotes could be read as another value, as none, or not
// at all.
func ambiguous(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || s != text.Printable(s) {
		return true
	}
	return strings.ContainsRune(`"'{[(`, rune(s[0])) || json.Valid([]byte(s))
}

// Compact returns the JSON of a value. A value that JSON cannot express is not from a cluster, and
// is formatted as in Go.
func Compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Name names an object for a terminal.
func Name(ref object.Ref) string { return text.Printable(ref.String()) }

// Image says what a container runs, on how many Pods, and for how long.
func Image(i event.Image, now time.Time) string {
	const enough = len("sha256:") + 12
	id := i.ID[strings.LastIndex(i.ID, "@")+1:]
	said := text.Printable(i.Container) + " runs " + text.Printable(i.Image) + " as " + text.Printable(id[:min(len(id), enough)]) +
		": " + text.Count(len(i.Pods), "Pod")
	var first, last time.Time
	for _, p := range i.Pods {
		if first.IsZero() || p.Since.Before(first) {
			first = p.Since
		}
		if p.Since.After(last) {
			last = p.Since
		}
	}
	if first.IsZero() || last.After(now) {
		return said
	}
	shortest, longest := duration.HumanDuration(now.Sub(last)), duration.HumanDuration(now.Sub(first))
	if shortest == longest {
		return said + ", for " + longest
	}
	return said + ", for " + shortest + " to " + longest
}
