package fieldpath

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Nearest returns the one of the candidates that somebody who wrote p most
// likely meant, and whether any is near: p with another key, or with elements
// left out, or with a slip of the pen. What p lies in is not near.
func (p Path) Nearest(candidates []Path) (Path, bool) {
	const step, far = 100, 1 << 20 // to leave out an element costs more than any text differs
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

// skips returns how many elements of c were left out in p, whatever the keys of
// list items, or -1 if that alone does not make p of c.
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
	if at < len(c) { // What lies below is not meant.
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
