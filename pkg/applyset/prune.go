package applyset

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Input is one object of the input.
type Input struct {
	Ref object.Ref
	// Resource is the kind's plural name; empty if the server does not serve the kind yet.
	Resource string
}

// Set describes a set, except for its members.
type Set struct {
	Parent object.Ref
	// Manager is the field manager of the members; empty means one of the default managers.
	Manager string
	// Input is empty if the whole set is deleted.
	Input []Input
	// Allow lists the [Protected] kinds that may be pruned.
	Allow []schema.GroupKind
}

// Decision is the result of Decide.
type Decision struct {
	ID string
	// Doomed lists the members to delete. Kept lists the members that are no longer in the input
	// but are not deleted. Both lists are sorted.
	Doomed []Member
	Kept   []Kept
	// Stay counts the members in the input, and Inputs counts all objects in the input.
	Stay, Inputs int

	of Set
}

// Kept is a member that is no longer in the input but stays.
type Kept struct {
	Member
	Reason Reason
	// By is the annotation, label, owner or object behind the reason, or "".
	By string
}

// Reason is the reason to keep a member that is no longer in the input.
type Reason string

const (
	// Disabled means that an annotation or label protects the member.
	Disabled Reason = "disabled"
	// Claimed means that another tool or set owns the object.
	Claimed Reason = "claimed"
	// NotAllowed means that the deletion would also delete the member's contents, and that the user
	// has not allowed it.
	NotAllowed Reason = "not-allowed"
	// Holds means that the member contains an object that stays.
	Holds Reason = "holds"
	// Unseen means that the owners of the member's contents are unknown.
	Unseen Reason = "unseen"
	// Copied means that a controller created the member with the labels of its source.
	Copied Reason = "copied"
	// Unshown means that the member was not in the list of deletions that the user saw before the run.
	Unshown Reason = "unshown"
	// Gone means that the object is no longer a member of the set.
	Gone Reason = "gone"
)

// Text returns the reason as a sentence.
func (k Kept) Text() string {
	switch k.Reason {
	case Disabled:
		return "its " + k.By + " keeps it"
	case Claimed:
		return "it belongs to " + k.By
	case NotAllowed:
		return "its contents would be deleted with it; to prune it anyway, use --prune-allow=" + k.Ref.GVK.Kind
	case Holds:
		return "it contains " + k.By + ", which stays"
	case Unseen:
		return "cannot tell whether it contains objects that belong to others: " + k.By
	case Copied:
		return "it was created for " + k.By + ", and is deleted with it"
	case Unshown:
		return "it was not among the deletions shown before this run: the next run will prune it"
	case Gone:
		return "it left the set during this run"
	}
	return string(k.Reason)
}

// Protected returns the kinds whose objects are pruned only if the user allows it. The contents of
// such an object are deleted with it, and the next apply does not restore them.
func Protected() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		{Kind: "Namespace"},
		{Kind: "PersistentVolumeClaim"},
	}
}

// Decide decides which members of a set to prune. It never chooses an object that is in the input,
// at any version, or that another owner claims.
func Decide(set Set, members []Member) Decision {
	d := Decision{ID: ID(set.Parent), Inputs: len(set.Input), of: set}
	input := map[object.Key]bool{}
	for _, in := range set.Input {
		input[in.Ref.Key()] = true
	}
	staying := map[types.UID]bool{} // Two API groups may serve the same object.
	for _, m := range members {
		if m.Set() == d.ID && input[m.Ref.Key()] {
			staying[m.UID] = true
			d.Stay++
		}
	}
	for _, m := range members {
		switch {
		case m.Set() != d.ID, input[m.Ref.Key()], m.UID != "" && staying[m.UID]:
		default:
			d.add(set, m)
		}
	}
	d.keepHolders(set)
	slices.SortFunc(d.Doomed, func(a, b Member) int { return a.Ref.Compare(b.Ref) })
	slices.SortFunc(d.Kept, func(a, b Kept) int { return a.Ref.Compare(b.Ref) })
	return d
}

func (d *Decision) add(set Set, m Member) {
	keep := func(reason Reason, by string) { d.Kept = append(d.Kept, Kept{m, reason, by}) }
	maker, copied := m.isCopy(set.Parent, set.Manager)
	note := m.keptBy(len(set.Input) == 0)
	others := m.Claims()
	gk := m.Ref.GVK.GroupKind()
	switch {
	case copied:
		keep(Copied, maker)
	case note != "":
		keep(Disabled, note)
	case len(others) > 0:
		keep(Claimed, others[0].String())
	case slices.Contains(Protected(), gk) && !slices.Contains(set.Allow, gk):
		keep(NotAllowed, "")
	default:
		d.Doomed = append(d.Doomed, m)
	}
}

// keepHolders keeps the namespaces and CRDs that contain an object that stays: an object in the
// input, a kept member, or the parent.
func (d *Decision) keepHolders(set Set) {
	inNamespace, ofKind := map[string]object.Ref{}, map[string]object.Ref{}
	stays := func(ref object.Ref, resource string) {
		if ref.Namespace != "" {
			inNamespace[ref.Namespace] = ref
		}
		if resource != "" && ref.GVK.Group != "" {
			ofKind[resource+"."+ref.GVK.Group] = ref
		}
	}
	for _, k := range d.Kept {
		if k.Reason != Copied {
			stays(k.Ref, k.Kind.Resource)
		}
	}
	for _, in := range set.Input {
		stays(in.Ref, in.Resource)
	}
	stays(set.Parent, "")
	d.Doomed = slices.DeleteFunc(d.Doomed, func(m Member) bool {
		var held object.Ref
		switch m.Ref.GVK.GroupKind() {
		case schema.GroupKind{Kind: "Namespace"}:
			held = inNamespace[m.Ref.Name]
		case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
			held = ofKind[m.Ref.Name] // A CRD is named RESOURCE.GROUP.
		}
		if held.Name == "" {
			return false
		}
		d.Kept = append(d.Kept, Kept{m, Holds, held.String()})
		return true
	})
}

// Holders returns the doomed members whose deletion would delete other objects too.
func (d Decision) Holders() []Member {
	var out []Member
	for _, m := range d.Doomed {
		switch m.Ref.GVK.GroupKind() {
		case schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
			out = append(out, m)
		}
	}
	return out
}

// Keep returns a copy of the decision in which the doomed member m is kept.
func (d Decision) Keep(m Member, reason Reason, by string) Decision {
	d.Doomed = slices.DeleteFunc(slices.Clone(d.Doomed), func(other Member) bool { return other.Ref == m.Ref })
	d.Kept = append(slices.Clone(d.Kept), Kept{m, reason, by})
	slices.SortFunc(d.Kept, func(a, b Kept) int { return a.Ref.Compare(b.Ref) })
	return d
}

// Within returns a copy of the decision in which a member is doomed only if the same object is also doomed
// in the decision that the user has seen (shown). All other doomed members are kept, with the namespaces
// and CRDs that contain them. An object that was deleted and made again is another one.
func (d Decision) Within(shown Decision) Decision {
	was := map[object.Key]types.UID{}
	for _, m := range shown.Doomed {
		was[m.Ref.Key()] = m.UID
	}
	doomed := d.Doomed
	d.Doomed, d.Kept = nil, slices.Clone(d.Kept)
	for _, m := range doomed {
		if uid, seen := was[m.Ref.Key()]; seen && uid == m.UID {
			d.Doomed = append(d.Doomed, m)
		} else {
			d.Kept = append(d.Kept, Kept{m, Unshown, ""})
		}
	}
	d.keepHolders(d.of)
	slices.SortFunc(d.Kept, func(a, b Kept) int { return a.Ref.Compare(b.Ref) })
	return d
}

// Again repeats the decision about a doomed member, based on its current state and on the members
// that were kept in the meantime (stayed). goes is set if the member is still to be deleted. If it
// is not, the first result is the member with the reason to keep it.
func (d Decision) Again(m Member, stayed []Kept) (why Kept, goes bool) {
	if m.Set() != d.ID {
		return Kept{m, Gone, ""}, false
	}
	again := Decision{ID: d.ID, of: d.of, Kept: slices.Clone(stayed)}
	again.add(d.of, m)
	again.keepHolders(d.of)
	if len(again.Doomed) > 0 {
		return Kept{}, true
	}
	return again.Kept[len(again.Kept)-1], false
}

// Left returns the promise for the kept members. After the prune, the parent's promise is the union
// of this promise and the input's.
func (d Decision) Left() Promise {
	var refs []object.Ref
	for _, k := range d.Kept {
		refs = append(refs, k.Ref)
	}
	return PromiseOf(refs)
}

// ParseAllow parses the kind, resource or short name of one of the [Protected] kinds, with or
// without its group.
func ParseAllow(text string) (schema.GroupKind, error) {
	word, group, grouped := strings.Cut(strings.ToLower(strings.TrimSpace(text)), ".")
	names := map[string][]string{
		"CustomResourceDefinition": {"customresourcedefinition", "customresourcedefinitions", "crd", "crds"},
		"Namespace":                {"namespace", "namespaces", "ns"},
		"PersistentVolumeClaim":    {"persistentvolumeclaim", "persistentvolumeclaims", "pvc"},
	}
	for _, gk := range Protected() {
		if grouped && group != gk.Group {
			continue
		}
		if slices.Contains(names[gk.Kind], word) {
			return gk, nil
		}
	}
	return schema.GroupKind{}, object.Hinted("only CustomResourceDefinition, Namespace and PersistentVolumeClaim need --prune-allow; all other kinds are pruned without it",
		"%q does not need to be allowed", text)
}

// Doubt returns the reason why a prune looks like a mistake and needs confirmation, or "". Members
// that are already pruned do not count, so a repeated run needs confirmation only if the first one
// did.
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
		return "no object of the set is in the input, and " + of + " would be deleted"
	case half*len(d.Doomed) > all:
		return "more than half of the set would be deleted: " + of
	}
	return ""
}
