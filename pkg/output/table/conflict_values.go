package table

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// A large value is shown as a diff of at most largeLines lines, with largeContext lines around each
// change. The "diff" verb shows the full value.
const (
	largeLines   = 20
	largeContext = 2
	// A map or list is shown on one line if its JSON is at most largeWidth columns wide.
	largeWidth = 60
)

// pathGap separates a path, which users copy, from its values.
const pathGap = "     "

func isLarge(c managedfields.Conflict) bool {
	large := func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return format.Cells(format.Compact(v)) > largeWidth
		default:
			return false
		}
	}
	return c.HasLive && (large(c.Yours) || large(c.Live))
}

func largeRows(b output.Base, conflicts []managedfields.Conflict, width int) []string {
	var rows []string
	for _, c := range conflicts {
		rows = append(rows, text.Printable(c.Path.String())+pathGap+format.OwnerList(c.Owners, b.Now()))
		for _, line := range largeDiff(c, b.Verbose) {
			if columns := width - len("    "); width > 0 && columns > format.LeastValue {
				line = format.Cut(line, columns)
			}
			rows = append(rows, "  "+b.Paint.DiffLine(line))
		}
	}
	return rows
}

func largeDiff(c managedfields.Conflict, whole bool) []string {
	live, err := yaml.Marshal(c.Live)
	if err != nil {
		return []string{text.Printable(err.Error())}
	}
	yours, err := yaml.Marshal(c.Yours)
	if err != nil {
		return []string{text.Printable(err.Error())}
	}
	all, err := unified("live", "yours", string(live), string(yours), largeContext)
	if err != nil {
		return []string{text.Printable(fmt.Sprintf("no diff of %s: %v", c.Path, err))}
	}
	if !whole {
		all = shortened(all)
	}
	for i, line := range all {
		all[i] = text.Printable(line)
	}
	if more := len(all) - largeLines; more > 1 && !whole {
		all = append(all[:largeLines], "and "+text.Count(more, "more line")+"; diff shows all")
	}
	return all
}

func splitLarge(conflicts []managedfields.Conflict) (small, large []managedfields.Conflict) {
	for _, c := range conflicts {
		if isLarge(c) {
			large = append(large, c)
		} else {
			small = append(small, c)
		}
	}
	return small, large
}

// values formats both sides of a conflict so that their difference is visible.
func values(yours, live any, hasLive bool) (string, string) {
	if !hasLive {
		return format.Shorten(format.Value(yours)), "(none)"
	}
	a, aok := yours.(string)
	b, bok := live.(string)
	if !aok || !bok || !strings.Contains(a, "\n") || !strings.Contains(b, "\n") {
		return format.ShortenPair(format.Value(yours), format.Value(live))
	}
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return format.ShortenPair(lineOf(as, n), lineOf(bs, n))
}

func lineOf(lines []string, n int) string {
	if n >= len(lines) {
		return "(" + text.Count(len(lines), "line") + ")"
	}
	return fmt.Sprintf("line %d: %s", n+1, text.Printable(lines[n]))
}

// cutPair shortens each of two values to its own width. If the results would be equal, it shows
// where the values differ.
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
	return format.Cut(text.Ellipsis+string(ar[from:]), aw), format.Cut(text.Ellipsis+string(br[from:]), bw)
}

func cutValue(s string, width int) string {
	if format.Cells(s) > width {
		if image, ok := cutImage(s, width); ok {
			return image
		}
	}
	return format.CutMiddle(s, width)
}

// images matches the parts of an image: registry and repository, name and tag, digest.
func images() *regexp.Regexp {
	return regexp.MustCompile(`^((?:[\w.-]+(?::\d+)?/)*)([\w.-]+(?::[\w.-]+)?)(@sha256:[0-9a-f]{32,})?$`)
}

// cutImage shortens an image but keeps its name and tag. It returns false if the text is not an
// image or does not fit.
func cutImage(s string, width int) (string, bool) {
	parts := images().FindStringSubmatch(s)
	if parts == nil || parts[1] == "" && parts[3] == "" {
		return "", false
	}
	from, name, rest := parts[1], parts[2], ""
	if parts[3] != "" {
		rest = "@" + text.Ellipsis
	}
	if format.Cells(from+name+rest) <= width {
		return from + name + rest, true
	}
	for from != "" && format.Cells(text.Ellipsis+"/"+from+name+rest) > width {
		_, from, _ = strings.Cut(from, "/")
	}
	if short := text.Ellipsis + "/" + from + name + rest; parts[1] != "" && format.Cells(short) <= width {
		return short, true
	}
	return name, format.Cells(name) <= width
}
