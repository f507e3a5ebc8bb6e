package ownership

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// move is an entry of an updater that became part of an applier's, with everything it
// held: every tool does this to its entries when it goes from client-side to
// server-side apply.
type move struct {
	from, to managedfields.Owner
}

// kubectl's names as a manager: for server-side apply, and for the annotation in which
// it keeps what client-side apply last applied.
const (
	kubectl            = "kubectl"
	kubectlLastApplied = "kubectl-last-applied"
)

// byOneTool reports whether both sides are the same tool.
func (m move) byOneTool() bool {
	return m.from.Manager == m.to.Manager || m.from.Manager == managedfields.ClientSideApply && m.to.Manager == kubectl
}

// movesOf finds the moves between two versions of an object. Between two tools it
// accepts only a proven move: a forced apply takes values from others and leaves them
// the maps and list items that hold these, so an entry that went with both was moved by
// an edit of the entries.
func movesOf(before, after []managedfields.Entry) []move {
	var out []move
	for _, was := range before {
		if !movable(was, managedfields.Update) || slices.ContainsFunc(after, func(e managedfields.Entry) bool { return e.Equal(was.Owner) }) {
			continue
		}
		for _, is := range after {
			if !movable(is, managedfields.Apply) || is.APIVersion != was.APIVersion || !was.Fields.Difference(is.Fields).Empty() {
				continue
			}
			if m := (move{was.Owner, is.Owner}); m.byOneTool() || holdsOthers(was.Fields) {
				out = append(out, m)
			}
		}
	}
	return out
}

func movable(e managedfields.Entry, operation string) bool {
	return e.Operation == operation && e.Subresource == "" && !e.Fields.Empty() && isReal(e.Owner)
}

// movesSince finds the moves within one tool from owners of which nothing else is
// known: an updater that is gone, and an applier of the same tool that is present.
func movesSince(before []managedfields.Owner, after []managedfields.Entry) []move {
	var out []move
	for _, was := range before {
		if was.Operation != managedfields.Update || was.Subresource != "" || slices.ContainsFunc(after, func(e managedfields.Entry) bool { return e.Equal(was) }) {
			continue
		}
		for _, is := range after {
			if m := (move{was, is.Owner}); movable(is, managedfields.Apply) && is.APIVersion == was.APIVersion && m.byOneTool() {
				out = append(out, m)
			}
		}
	}
	return out
}

// holdsOthers reports whether a set has a path together with others below it.
func holdsOthers(set *fieldpath.Set) bool {
	holds := false
	for path := range set.All() { // It panics on an early exit.
		for n := len(path) - 1; n > 0 && !holds; n-- {
			holds = set.Has(path[:n])
		}
	}
	return holds
}
