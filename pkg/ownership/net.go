package ownership

import (
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Net returns, sorted by path, the transitions from the owners that the record last saw to the live
// ones, for a period that was not watched. If a tool has since switched from updates to server-side
// apply, its entries have moved, which no record says. Owners that came and went in between are
// unknown, and so are new owners of paths without an entry. The error reports managed fields that
// cannot be decoded.
func (r *Record) Net(live Owners) ([]Transition, error) {
	entries, err := live.Entries()
	if err != nil {
		return nil, fmt.Errorf("live owners: %w", err)
	}
	var out []Transition
	// Several entries may have the same path; the last one is the newest.
	done := map[string]bool{}
	for _, e := range slices.Backward(r.Entries) {
		if done[e.Path] {
			continue
		}
		done[e.Path] = true
		if e.Cut {
			continue
		}
		path, err := fieldpath.ParsePath(e.Path)
		if err != nil { // The path was too long to be kept.
			continue
		}
		h := Fate(path, OwnersOf(e.To), entries)
		if slices.EqualFunc(h.Before, h.After, managedfields.Owner.Equal) {
			continue
		}
		out = append(out, classifier{reset: len(entries) == 0, apart: true, moves: movesSince(h.Before, entries)}.classify(h))
	}
	slices.SortFunc(out, func(a, b Transition) int { return a.Path.Compare(b.Path) })
	return out, nil
}

// String describes the entry in one line, as [Transition.String] does.
func (e Entry) String() string {
	lost := slices.DeleteFunc(slices.Clone(e.From), func(h Holder) bool { return slices.Contains(e.To, h) })
	text := e.Path + " " + string(e.Kind)
	if e.Kind == Taken {
		return text + " from " + names(OwnersOf(lost)) + " by " + names(OwnersOf(e.To))
	}
	if e.Kind == Lost {
		return text + " by " + names(OwnersOf(lost)) + " to " + names(OwnersOf(e.To))
	}
	return text + " by " + names(OwnersOf(lost))
}

// OwnersOf returns the owners that a record names.
func OwnersOf(holders []Holder) []managedfields.Owner {
	out := make([]managedfields.Owner, len(holders))
	for i, h := range holders {
		out[i] = managedfields.Owner{Manager: h.Manager, Operation: h.Operation, Subresource: h.Subresource, APIVersion: h.APIVersion}
	}
	return out
}
