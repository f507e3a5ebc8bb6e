package table

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// values shows the two sides of a conflict such that their difference is visible: for
// texts of many lines, the first line in which they differ.
func values(yours, live any, hasLive bool) (string, string) {
	if !hasLive {
		return phrase.Value(yours), "(none)"
	}
	a, aok := yours.(string)
	b, bok := live.(string)
	if !aok || !bok || !strings.Contains(a, "\n") || !strings.Contains(b, "\n") {
		return phrase.Value(yours), phrase.Value(live)
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

// cutPair shortens two values to a number of columns each. If that would make them look
// the same, it keeps the place at which they differ.
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
	return layout.Cut(text.Ellipsis+string(ar[from:]), aw), layout.Cut(text.Ellipsis+string(br[from:]), bw)
}

// cutValue shortens a value to a number of columns.
func cutValue(s string, width int) string {
	if layout.Cells(s) > width {
		if image, ok := cutImage(s, width); ok {
			return image
		}
	}
	return layout.CutMiddle(s, width)
}

// images matches the parts of an image: its registry and repository, its name with the
// tag, and its digest.
func images() *regexp.Regexp {
	return regexp.MustCompile(`^((?:[\w.-]+(?::\d+)?/)*)([\w.-]+(?::[\w.-]+)?)(@sha256:[0-9a-f]{32,})?$`)
}

// cutImage shortens an image to a number of columns: it drops the digest first, then the
// registry and repository, from the left. Name and tag stay. It returns false for a text
// that is not an image, or if these do not fit.
func cutImage(s string, width int) (string, bool) {
	parts := images().FindStringSubmatch(s)
	if parts == nil || parts[1] == "" && parts[3] == "" {
		return "", false
	}
	from, name, rest := parts[1], parts[2], ""
	if parts[3] != "" {
		rest = "@" + text.Ellipsis
	}
	if layout.Cells(from+name+rest) <= width {
		return from + name + rest, true
	}
	for from != "" && layout.Cells(text.Ellipsis+"/"+from+name+rest) > width {
		_, from, _ = strings.Cut(from, "/")
	}
	if short := text.Ellipsis + "/" + from + name + rest; parts[1] != "" && layout.Cells(short) <= width {
		return short, true
	}
	return name, layout.Cells(name) <= width
}
