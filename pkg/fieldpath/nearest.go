package fieldpath

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NotFoundError says that an object has no such path, and that the path has no owner either.
type NotFoundError struct {
	Path Path
	// Nearest is the path that may have been meant; empty if none is near.
	Nearest Path
}

// NewNotFoundError returns the error, with the nearest of the paths that there are.
func NewNotFoundError(p Path, candidates []Path) *NotFoundError {
	nearest, _ := p.Nearest(candidates)
	return &NotFoundError{Path: p, Nearest: nearest}
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no %s", e.Path) }

// Hint names the path that may have been meant.
func (e *NotFoundError) Hint() string {
	if len(e.Nearest) == 0 {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", e.Nearest)
}

// Nearest returns the candidate that the author of p most likely meant, and whether
// any is near: p with another key, with elements left out, or with a typing error.
// A parent of p is not near.
func (p Path) Nearest(candidates []Path) (Path, bool) {
	const step, far = 100, 1 << 20 // an element left out costs more than any difference in text
	best, least := Path(nil), far
	written := p.String()
	for _, c := range candidates {
		if p.HasPrefix(c) {
			continue
		}
		d := text.Edits(written, c.String())
		cost := far
		if skipped := p.skips(c); skipped >= 0 {
			cost = step*skipped + min(d, step-1)
		} else if d <= max(2, len(written)/8) {
			cost = step * d
		}
		if cost < least {
			best, least = c, cost
		}
	}
	return best, least < far
}

// skips returns how many elements of c were left out in p, ignoring the keys of
// list items, or -1 if that alone does not turn c into p.
func (p Path) skips(c Path) int {
	at := 0
	for _, pe := range p {
		for at < len(c) && !alike(pe, c[at]) {
			at++
		}
		if at == len(c) {
			return -1
		}
		at++
	}
	if at < len(c) { // A path below is not what was meant.
		return -1
	}
	return len(c) - len(p)
}

func alike(a, b Element) bool {
	if a.FieldName == nil || b.FieldName == nil {
		return a.FieldName == nil && b.FieldName == nil
	}
	return strings.EqualFold(*a.FieldName, *b.FieldName)
}
