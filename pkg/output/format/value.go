package format

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// SameValue is the note on a conflict in which no value would change.
const SameValue = "the same value in two spellings"

// Masked replaces the values of Secrets. The printer sees only masked values.
const Masked = "***"

// Value formats a value on one line. Strings are written as they are and quoted only if they would
// be ambiguous. All other values are written as JSON.
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

// ambiguous reports whether a string without quotes could be overlooked or mistaken for another
// value.
func ambiguous(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || s != text.Printable(s) {
		return true
	}
	return strings.ContainsRune(`"'{[(`, rune(s[0])) || json.Valid([]byte(s))
}

// Compact returns a value as JSON.
func Compact(v any) string {
	out, err := rawJSON(v, "")
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// Name returns the printable name of an object.
func Name(ref object.Ref) string { return text.Printable(ref.String()) }

// KindName returns the printable name of a kind.
func KindName(kind schema.GroupKind) string { return Name(object.Ref{GVK: kind.WithVersion("")}) }

// Grouped groups items with the same key, in order of their first occurrence.
func Grouped[T any](all []T, key func(T) string) [][]T {
	var groups [][]T
	at := map[string]int{}
	for _, one := range all {
		k := key(one)
		i, known := at[k]
		if !known {
			i, at[k] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], one)
	}
	return groups
}

// Image says which image a container runs, in how many Pods, and for how long.
func Image(i event.Image, now time.Time) string {
	const enough = len("sha256:") + 12
	id := i.ID[strings.LastIndex(i.ID, "@")+1:]
	message := text.Printable(i.Container) + " runs " + text.Printable(i.Image) + " as " + text.Printable(id[:min(len(id), enough)]) +
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
		return message
	}
	shortest, longest := duration.HumanDuration(now.Sub(last)), duration.HumanDuration(now.Sub(first))
	if shortest == longest {
		return message + ", for " + longest
	}
	return message + ", for " + shortest + " to " + longest
}

// Owner names an owner and its operation, such as "kube-controller-manager (scale)" or
// "kubectl-edit (Update, 1h ago)".
func Owner(o managedfields.Owner, now time.Time) string {
	name, how := ownerParts(o, now)
	return name + how
}

// OwnerWithin names an owner in at most width columns; 0 means no limit. If needed, it shortens the
// manager's name first.
func OwnerWithin(o managedfields.Owner, now time.Time, width int) string {
	const least = 8
	name, how := ownerParts(o, now)
	columns := width - Cells(how)
	switch {
	case width == 0:
		return name + how
	case columns < least:
		return CutMiddle(name+how, width)
	default:
		return CutMiddle(name, columns) + how
	}
}

func ownerParts(o managedfields.Owner, now time.Time) (name, brackets string) {
	name = text.Printable(o.Manager)
	if name == "" {
		name = `""`
	}
	var how []string
	if o.Operation != "" && (o.Subresource == "" || o.Operation != managedfields.Update) {
		how = append(how, text.Printable(o.Operation))
	}
	if o.Subresource != "" {
		how = append(how, text.Printable(o.Subresource))
	}
	if !o.Time.IsZero() {
		// Clocks differ between machines, so a time in the future is shown as just now.
		how = append(how, duration.ShortHumanDuration(max(0, now.Sub(o.Time)))+" ago")
	}
	if len(how) == 0 {
		return name, ""
	}
	return name, " (" + strings.Join(how, ", ") + ")"
}

// Owners names several owners.
func Owners(list []managedfields.Owner, now time.Time) []string {
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = Owner(o, now)
	}
	return names
}

// Manager names a manager.
func Manager(name string) string { return Owner(managedfields.Owner{Manager: name}, time.Time{}) }

// UnknownManagers names the managers of fields for which the API server has recorded none.
const UnknownManagers = "unknown managers"

// AddedBy names the managers that have added a field, each with the text that is to follow it.
func AddedBy(list []managedfields.Owner, now time.Time) []string {
	if len(list) == 0 {
		return []string{UnknownManagers}
	}
	return Owners(list, now)
}

// OwnerList names several owners on one line.
func OwnerList(list []managedfields.Owner, now time.Time) string {
	return strings.Join(Owners(list, now), ", ")
}

// Stamp formats a time as RFC 3339 in UTC.
func Stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
