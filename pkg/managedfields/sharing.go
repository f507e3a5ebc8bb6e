package managedfields

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Sharing counts the fields whose owners change in an apply although their values do not.
type Sharing struct {
	// With lists the managers with which we share fields.
	With []Shared `json:"with,omitempty"`
	// Claimed counts the fields that had no owner and become ours.
	Claimed int `json:"claimed,omitempty"`
	// Dropped counts the fields that are no longer ours.
	Dropped int `json:"dropped,omitempty"`
}

// Shared counts the fields that we share with one manager.
type Shared struct {
	// Manager is the name of the field manager.
	Manager string `json:"manager"`
	// Fields is the number of fields.
	Fields int `json:"fields"`
}

// SharingOf compares the manager's fields in the live object with those in the server's response to
// an apply.
func SharingOf(live, answer *unstructured.Unstructured, manager string) (Sharing, error) {
	before, err := Entries(live)
	if err != nil {
		return Sharing{}, err
	}
	after, err := Entries(answer)
	if err != nil {
		return Sharing{}, err
	}
	was, is, others := Managed(before, manager), Managed(after, manager), Others(before, manager)
	if len(before) == 0 { // The server attributes everything to before-first-apply.
		others = Others(after, manager)
	}
	if mine, has := AppliedBy(before, manager); has && mine.APIVersion != answer.GetAPIVersion() {
		return Sharing{}, nil // Paths of two versions cannot be compared.
	}
	out := Sharing{Dropped: was.Leaves().Difference(is).Size()}
	counts := map[string]int{}
	fieldpath.Each(is.Leaves().Difference(was), func(p fieldpath.Path) {
		names := map[string]bool{}
		for _, owner := range HoldersOf(others, p) {
			names[owner.Manager] = true
		}
		for name := range names {
			counts[name]++
		}
		if len(names) == 0 {
			out.Claimed++
		}
	})
	for name, fields := range counts {
		out.With = append(out.With, Shared{Manager: name, Fields: fields})
	}
	slices.SortFunc(out.With, func(a, b Shared) int { return cmp.Compare(a.Manager, b.Manager) })
	return out, nil
}

// String returns a short line, such as "shared with helm: 12 fields".
func (s Sharing) String() string {
	var parts []string
	for _, with := range s.With {
		parts = append(parts, "shared with "+with.Manager+": "+text.Count(with.Fields, "field"))
	}
	if s.Claimed > 0 {
		parts = append(parts, "now owned: "+text.Count(s.Claimed, "field"))
	}
	if s.Dropped > 0 {
		parts = append(parts, "no longer owned: "+text.Count(s.Dropped, "field"))
	}
	if len(parts) == 0 {
		return "ownership rewritten"
	}
	return strings.Join(parts, ", ")
}

// Plus returns the sum of s and other.
func (s Sharing) Plus(other Sharing) Sharing {
	out := Sharing{With: slices.Clone(s.With), Claimed: s.Claimed + other.Claimed, Dropped: s.Dropped + other.Dropped}
	for _, with := range other.With {
		if i := slices.IndexFunc(out.With, func(have Shared) bool { return have.Manager == with.Manager }); i >= 0 {
			out.With[i].Fields += with.Fields
		} else {
			out.With = append(out.With, with)
		}
	}
	slices.SortFunc(out.With, func(a, b Shared) int { return cmp.Compare(a.Manager, b.Manager) })
	return out
}
