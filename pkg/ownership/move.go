package ownership

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// move means that an updater's entire entry became part of an applier's entry, as when a tool
// switches from client-side to server-side apply.
type move struct {
	from, to managedfields.Owner
	// writer is the updater that the API server credits with the remaining changes; it may be nil.
	// Editing managed fields is an update, so the API server credits the editor with the fields
	// that it changed, and with any default that is not stored, because every write sets such a
	// default anew.
	writer *managedfields.Owner
}

// kubectl has one manager for server-side apply, and another for the annotation that holds
// client-side apply's last configuration.
const (
	kubectl            = "kubectl"
	kubectlLastApplied = "kubectl-last-applied"
)

func byOneTool(from, to managedfields.Owner) bool {
	return from.Manager == to.Manager || from.Manager == managedfields.ClientSideApply && to.Manager == kubectl
}

func (m move) ownerAfter(owners []managedfields.Owner) (owner *managedfields.Owner, wrote bool) {
	switch {
	case has(owners, m.to):
		return &m.to, false
	case m.writer != nil && has(owners, *m.writer):
		return m.writer, true
	}
	return nil, false
}

// movesOf finds the moves between two versions of an object. If part of an entry remains, or the
// entry goes to another tool, the move needs proof: some of the moved fields must be maps or list
// items that contain other moved fields. A forced apply does not take a map or list item along with
// the values in it, so the fields were moved by an edit. If apart is set, an entry counts as moved
// only if the applier received all of it.
func movesOf(before, after []managedfields.Entry, apart bool) []move {
	var out []move
	for _, was := range before {
		if !movable(was, managedfields.Update) {
			continue
		}
		gone := was.Fields.Difference(managedfields.HeldBy(after, was.Owner))
		if gone.Empty() {
			continue
		}
		remains := slices.ContainsFunc(after, func(e managedfields.Entry) bool { return e.Equal(was.Owner) })
		for _, is := range after {
			if !movable(is, managedfields.Apply) || is.APIVersion != was.APIVersion {
				continue
			}
			along, rest := gone.Intersection(is.Fields), gone.Difference(is.Fields)
			if along.Empty() || apart && (remains || !rest.Empty()) {
				continue
			}
			writer, whole := credited(rest, before, after)
			if whole && (!remains && byOneTool(was.Owner, is.Owner) || holdsOthers(along)) {
				out = append(out, move{was.Owner, is.Owner, writer})
			}
		}
	}
	return out
}

// credited returns the only updater that gained any of the paths, or nil if none did. It returns
// false if another manager gained some of them.
func credited(paths *fieldpath.Set, before, after []managedfields.Entry) (writer *managedfields.Owner, alone bool) {
	if paths.Empty() {
		return nil, true
	}
	for _, e := range after {
		if e.Fields.Difference(managedfields.HeldBy(before, e.Owner)).Intersection(paths).Empty() {
			continue
		}
		if writer != nil || !movable(e, managedfields.Update) {
			return nil, false
		}
		writer = &e.Owner
	}
	return writer, true
}

func movable(e managedfields.Entry, operation string) bool {
	return e.Operation == operation && e.Subresource == "" && !e.Fields.Empty() && isReal(e.Owner)
}

// movesSince finds the moves within a single tool after an unwatched period: from an updater that
// no longer exists to an applier of the same tool.
func movesSince(before []managedfields.Owner, after []managedfields.Entry) []move {
	var out []move
	for _, was := range before {
		if was.Operation != managedfields.Update || was.Subresource != "" || slices.ContainsFunc(after, func(e managedfields.Entry) bool { return e.Equal(was) }) {
			continue
		}
		for _, is := range after {
			if movable(is, managedfields.Apply) && is.APIVersion == was.APIVersion && byOneTool(was, is.Owner) {
				out = append(out, move{from: was, to: is.Owner})
			}
		}
	}
	return out
}

func holdsOthers(set *fieldpath.Set) bool {
	holds := false
	for path := range set.All() { // set.All panics if the loop exits early.
		for n := len(path) - 1; n > 0 && !holds; n-- {
			holds = set.Has(path[:n])
		}
	}
	return holds
}
