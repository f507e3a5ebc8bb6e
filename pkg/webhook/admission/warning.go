package admission

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// The API server passes on one line without control characters to a client, or nothing; past 4,096
// characters a request it cuts each warning to 256 and drops the rest (edge case 74). Both paths
// may be called for one request, so each stays below half of that.
const (
	// maxLines bounds the warnings of one kind for a request.
	maxLines = 5
	// lineLength is how many characters a line should have.
	lineLength = 120
	// pathLength is the least number of characters for paths, however long the names around them.
	pathLength = 24
	// nameLength is how many characters of a manager's name are shown.
	nameLength = 48
	// maxLine and maxTotal are bytes that are never exceeded.
	maxLine  = 380
	maxTotal = 2000
)

// warning is one line for the client that sent a request.
type warning struct {
	about about
	text  string
}

// about is the kind of a warning.
type about string

const (
	aboutTakeover about = "takeover"
	aboutVersion  about = "version"
	aboutReach    about = "reach"
	aboutField    about = "field"
)

// takeover is everything that one party lost to another in a request.
type takeover struct {
	from, by string
	paths    []fieldpath.Path
}

// takeovers groups the paths that were taken from other managers: to the API server, a manager's
// applies and its updates are two owners; to users they are one.
func takeovers(transitions []ownership.Transition) []takeover {
	var out []takeover
	for _, t := range transitions {
		if t.Kind != ownership.Taken {
			continue
		}
		by := t.Gained()
		if len(by) == 0 {
			by = t.After
		}
		from := slices.DeleteFunc(t.Lost(), func(o managedfields.Owner) bool {
			return slices.ContainsFunc(by, func(b managedfields.Owner) bool { return b.Manager == o.Manager })
		})
		if len(from) == 0 {
			continue
		}
		next := takeover{from: owners(from), by: owners(by)}
		i := slices.IndexFunc(out, func(o takeover) bool { return o.from == next.from && o.by == next.by })
		if i < 0 {
			i, out = len(out), append(out, next)
		}
		out[i].paths = append(out[i].paths, t.Path)
	}
	return out
}

// ownersWarnings says in a few lines which manager took what from which.
func ownersWarnings(object string, all []takeover) []warning {
	var out []warning
	more := 0
	for i, t := range all {
		if i >= maxLines {
			more += len(t.paths)
			continue
		}
		tail := " taken from " + t.from + " by " + t.by
		room := max(lineLength-length(object)-length(": ")-length(tail), pathLength)
		out = append(out, warning{aboutTakeover, object + ": " + pathList(t.paths, room) + tail})
	}
	if more > 0 {
		out = append(out, warning{aboutTakeover, fmt.Sprintf("%s: +%d more taken", object, more)})
	}
	return out
}

// bounded limits lines to what fits into a header, and to a few.
func bounded(lines []warning) []warning {
	total := 0
	for i := range lines {
		lines[i].text = text.Truncate(text.Printable(lines[i].text), maxLine)
		if total += len(lines[i].text); total > maxTotal {
			return append(lines[:i:i], warning{lines[i].about, fmt.Sprintf("+%d more warnings", len(lines)-i)})
		}
	}
	return lines
}

// owners names owners for warnings: by manager, and by subresource if the path was held through
// one.
func owners(list []managedfields.Owner) string {
	var names []string
	for _, o := range list {
		name := text.TruncateMiddle(text.Printable(o.Manager), nameLength)
		if o.Subresource != "" {
			name += " (" + text.TruncateMiddle(text.Printable(o.Subresource), nameLength) + ")"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - 2; more > 0 {
		names = append(names[:2], fmt.Sprintf("+%d more", more))
	}
	return strings.Join(names, ", ")
}

// pathList names as many paths as fit, at least one, and counts the rest.
func pathList(paths []fieldpath.Path, room int) string {
	rest := func(said int) string {
		if said == len(paths) {
			return ""
		}
		return fmt.Sprintf(", +%d more", len(paths)-said)
	}
	listed := pathText(paths[0], room-len(rest(1)))
	for i, p := range paths[1:] {
		next := listed + ", " + text.Printable(p.String())
		if length(next)+len(rest(i+2)) > room {
			return listed + rest(i+1)
		}
		listed = next
	}
	return listed
}

// pathText shortens a path to a number of characters: it removes its first elements first, because
// the last ones say most.
func pathText(p fieldpath.Path, room int) string {
	room = max(room, pathLength)
	whole := text.Printable(p.String())
	if length(whole) <= room || len(p) < 2 {
		return text.TruncateMiddle(whole, room)
	}
	end := "…" + text.Printable(p[len(p)-1:].String())
	for i := len(p) - 2; i > 0; i-- {
		longer := "…" + text.Printable(p[i:].String())
		if length(longer) > room {
			break
		}
		end = longer
	}
	return text.TruncateMiddle(end, room)
}

func length(s string) int { return utf8.RuneCountInString(s) }
