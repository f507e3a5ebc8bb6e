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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/warningtext"
)

// The API server passes on only single lines without control characters. If a request's warnings
// exceed 4,096 characters in total, it truncates each warning to 256 characters, and drops the
// warnings that still exceed the limit (edge case 74). It may call both paths of the webhook for
// one request, so the warnings of each path stay below half of the limit.
const (
	maxLines = 5
	// lineLength is the preferred length of a line, in characters.
	lineLength = 120
	// pathLength is the minimum length of the paths in a line, however long the names are.
	pathLength = 24
	// maxLine and maxTotal are hard limits in bytes.
	maxLine  = 380
	maxTotal = 2000
)

type warning struct {
	about about
	text  string
}

type about string

const (
	aboutTakeover about = "takeover"
	aboutVersion  about = "version"
	aboutReach    about = "reach"
	aboutField    about = "field"
)

type takeover struct {
	from, by string
	paths    []fieldpath.Path
}

// takeovers groups the taken paths by the managers that lost them. It omits a manager that takes a
// path from itself, by a different operation.
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

func ownersWarnings(object string, all []takeover) []warning {
	var out []warning
	more := 0
	for i, t := range all {
		if i >= maxLines {
			more += len(t.paths)
			continue
		}
		tail := warningtext.Taken(t.from, t.by)
		limit := max(lineLength-length(object)-length(": ")-length(tail), pathLength)
		out = append(out, warning{aboutTakeover, warningtext.About(object, pathList(t.paths, limit)+tail)})
	}
	if more > 0 {
		out = append(out, warning{aboutTakeover, warningtext.About(object, warningtext.MoreTaken(more))})
	}
	return out
}

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

func owners(list []managedfields.Owner) string {
	var names []string
	for _, o := range list {
		name := text.TruncateMiddle(text.Printable(o.Manager), warningtext.NameLength)
		if o.Subresource != "" {
			name += " (" + text.TruncateMiddle(text.Printable(o.Subresource), warningtext.NameLength) + ")"
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

func pathList(paths []fieldpath.Path, limit int) string {
	rest := func(message int) string {
		if message == len(paths) {
			return ""
		}
		return fmt.Sprintf(", +%d more", len(paths)-message)
	}
	listed := pathText(paths[0], limit-len(rest(1)))
	for i, p := range paths[1:] {
		next := listed + ", " + text.Printable(p.String())
		if length(next)+len(rest(i+2)) > limit {
			return listed + rest(i+1)
		}
		listed = next
	}
	return listed
}

// pathText formats a path. If it does not fit, pathText removes the first elements,
// because the last ones are the most specific.
func pathText(p fieldpath.Path, limit int) string {
	limit = max(limit, pathLength)
	whole := text.Printable(p.String())
	if length(whole) <= limit || len(p) < 2 {
		return text.TruncateMiddle(whole, limit)
	}
	end := "…" + text.Printable(p[len(p)-1:].String())
	for i := len(p) - 2; i > 0; i-- {
		longer := "…" + text.Printable(p[i:].String())
		if length(longer) > limit {
			break
		}
		end = longer
	}
	return text.TruncateMiddle(end, limit)
}

func length(s string) int { return utf8.RuneCountInString(s) }
