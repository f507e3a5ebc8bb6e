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

// Input is an object of the input, which stays.
type Input struct {
	Ref object.Ref
	// Resource is the plural of its kind; empty while the server does not serve it.
	Resource string
}

// Set is what Decide needs to know of a set besides its members.
type Set struct {
	Parent object.Ref
	// Manager applies the members; empty stands for the usual managers.
	Manager string
	// Input is what is applied; if empty, the whole set leaves.
	Input []Input
	// Allow are protected kinds that may be pruned nonetheless. See [Protected].
	Allow []schema.GroupKind
}

// Decision is the result of Decide.
type Decision struct {
	// ID of the set.
	ID string
	// Doomed are to be deleted, Kept left the input and stay. Both are sorted.
	Doomed []Member
	Kept   []Kept
	// Stay is how many members the input has, Inputs how much is in it.
	Stay, Inputs int

	of Set
}

// Kept is a member that left the input and stays.
type Kept struct {
	Member
	Reason Reason
	// By names what the reason is about; empty if the reason needs none.
	By string
}

// Reason is why a member that left the input is kept.
type Reason string

// The reasons.
const (
	// Disabled: an annotation or a label says so, which By names.
	Disabled Reason = "disabled"
	// Claimed: another tool or set claims the object.
	Claimed Reason = "claimed"
	// NotAllowed: deleting objects of this kind deletes others too, and that was not allowed.
	NotAllowed Reason = "not-allowed"
	// Holds: deleting it would delete what stays.
	Holds Reason = "holds"
	// Unseen: it holds other objects, and whose they are is unknown.
	Unseen Reason = "unseen"
	// Copied: a controller made it, with the labels of its source.
	Copied Reason = "copied"
	// Unshown: it was not shown before the run began.
	Unshown Reason = "unshown"
	// Gone: it is no member any more.
	Gone Reason = "gone"
)

// Text says it to people.
func (k Kept) Text() string {
	switch k.Reason {
	case Disabled:
		return "its " + k.By + " keeps it"
	case Claimed:
		return "it belongs to " + k.By
	case NotAllowed:
		return "what it holds goes with it: --prune-allow=" + k.Ref.GVK.Kind + " prunes it nonetheless"
	case Holds:
		return "it holds " + k.By + ", which stays"
	case Unseen:
		return "whether it holds what others claim is unknown: " + k.By
	case Copied:
		return "it was made for " + k.By + ", and goes with it"
	case Unshown:
		return "it left the set while this run was under way: the next run prunes it"
	case Gone:
		return "it left the set while this run was under way"
	}
	return string(k.Reason)
}

// Protected returns the kinds that are pruned only if allowed by name: what they hold
// goes with them, and does not come back when they are applied again.
func Protected() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		{Kind: "Namespace"},
		{Kind: "PersistentVolumeClaim"},
	}
}

// Decide decides which members of a set are pruned. An object of the input, in whatever
// version, and an object that is claimed elsewhere are never among them.
func Decide(set Set, members []Member) Decision {
	d := Decision{ID: ID(set.Parent), Inputs: len(set.Input), of: set}
	input := map[object.Key]bool{}
	for _, in := range set.Input {
		input[in.Ref.Key()] = true
	}
	staying := map[types.UID]bool{} // Some objects are served by two groups.
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

// add decides about a member that left the input.
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

// keepHolders keeps namespaces and CRDs whose deletion would delete what stays:
// objects of the input, members that are kept, the parent.
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

// Holders returns the doomed members whose objects go with them, which may be others'.
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

// Keep returns the decision with a doomed member kept, for a reason that its own labels do
// not show.
func (d Decision) Keep(m Member, reason Reason, by string) Decision {
	d.Doomed = slices.DeleteFunc(slices.Clone(d.Doomed), func(other Member) bool { return other.Ref == m.Ref })
	d.Kept = append(slices.Clone(d.Kept), Kept{m, reason, by})
	slices.SortFunc(d.Kept, func(a, b Kept) int { return a.Ref.Compare(b.Ref) })
	return d
}

// Within returns the decision, dooming only what was doomed when it was shown. An object that is
// doomed only since then is kept.
func (d Decision) Within(shown Decision) Decision {
	was := map[object.Key]bool{}
	for _, m := range shown.Doomed {
		was[m.Ref.Key()] = true
	}
	doomed := d.Doomed
	d.Doomed, d.Kept = nil, slices.Clone(d.Kept)
	for _, m := range doomed {
		if was[m.Ref.Key()] {
			d.Doomed = append(d.Doomed, m)
		} else {
			d.Kept = append(d.Kept, Kept{m, Unshown, ""})
		}
	}
	slices.SortFunc(d.Kept, func(a, b Kept) int { return a.Ref.Compare(b.Ref) })
	return d
}

// Again decides once more about a doomed member, as it is now, when these others turned out
// to stay. It reports whether the member still goes; if not, why it is kept.
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

// Left is the promise that covers the members which stay although they left the input.
// Together with that of the input, it is the parent's promise after the prune.
func (d Decision) Left() Promise {
	var refs []object.Ref
	for _, k := range d.Kept {
		refs = append(refs, k.Ref)
	}
	return PromiseOf(refs)
}

// ParseAllow parses a kind that may be pruned: one of the [Protected], by its kind,
// resource or short name, with or without its group.
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
	return schema.GroupKind{}, &object.HintedError{
		Err:    fmt.Errorf("%q is no kind that has to be allowed", text),
		Advice: "those are CustomResourceDefinition, Namespace and PersistentVolumeClaim; all others are pruned anyway",
	}
}

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
