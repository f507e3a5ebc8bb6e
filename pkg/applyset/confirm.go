package applyset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Doubt says why a prune looks like a mistake and has to be confirmed; empty if it does
// not. Members that are pruned already do not add to it: a run that is repeated after it
// was killed needs no confirmation that it did not need before.
func (d Decision) Doubt() string {
	all := d.Stay + len(d.Doomed)
	for _, k := range d.Kept {
		if k.Reason != Copied {
			all++
		}
	}
	const half = 2
	of := fmt.Sprintf("%d of %s", len(d.Doomed), text.Count(all, "object"))
	switch {
	case len(d.Doomed) == 0:
		return ""
	case d.Inputs == 0:
		return "the input is empty, and " + of + " of the set would be deleted"
	case d.Stay == 0:
		return "the input has nothing in common with the set, of which " + of + " would be deleted"
	case half*len(d.Doomed) > all:
		return "more than half of the set would be deleted: " + of
	}
	return ""
}

// Digest identifies what is doomed: the set and the names of the objects. A user who
// confirms a digest confirms that and nothing else.
func (d Decision) Digest() string {
	lines := []string{d.ID}
	for _, m := range d.Doomed {
		lines = append(lines, Line(m.Ref.Key(), ""))
	}
	return Digest(lines)
}

// Line is one object of what is to be confirmed, and what becomes of it.
func Line(k object.Key, what string) string {
	return fmt.Sprintf("%q %q %q %q %q", k.Group, k.Kind, k.Namespace, k.Name, what)
}

// Digest stands for what is to be confirmed, line by line in any order: of a prune, of the
// deletion of a set, and of a rollback.
func Digest(lines []string) string {
	h := sha256.New()
	for _, line := range slices.Sorted(slices.Values(lines)) {
		fmt.Fprintf(h, "%q\n", line)
	}
	const shown = 8 // bytes: it is compared with one other, and typed
	return hex.EncodeToString(h.Sum(nil)[:shown])
}
