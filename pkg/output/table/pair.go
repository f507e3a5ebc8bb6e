package table

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// values shows both sides of a conflict so that their difference is visible. For multi-line
// strings, it shows the first line that differs.
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

// cutPair shortens two values to a width each. If they would become equal, it shows where they
// differ.
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

// cutImage shortens an image to a width. It drops the digest first, then registry and repository
// from the left, and keeps name and tag. It returns false if the text is not an image or does not
// fit.
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

// foldLastApplied returns the live side of a diff with a removed last-applied annotation replaced
// by its size. The annotation repeats the whole object as client-side apply last saw it, and every
// adoption removes it.
func foldLastApplied(before, after map[string]any) map[string]any {
	path := managedfields.LastAppliedPath()
	was, _ := path.Get(before)
	last, ok := was.(string)
	if _, stays := path.Get(after); !ok || stays || last == format.Masked {
		return before
	}
	meta, _ := before["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	before, meta, annotations = maps.Clone(before), maps.Clone(meta), maps.Clone(annotations)
	annotations[managedfields.LastAppliedAnnotation] = fmt.Sprintf("(%s)", text.Count(len(last), "byte"))
	meta["annotations"], before["metadata"] = annotations, meta
	return before
}
