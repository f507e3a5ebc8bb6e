package predict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// ConflictError says that an object was not applied because others own paths to which its
// manifest gives another value.
type ConflictError struct {
	Ref object.Ref
	// Conflicts, sorted by path; at least one.
	Conflicts []managedfields.Conflict
	// Refusal is why the server would refuse the object even if every conflict were taken;
	// nil if it would not, or was not asked.
	Refusal error
}

// Error names the object and the paths, without their values.
func (e *ConflictError) Error() string {
	if len(e.Conflicts) == 1 {
		c := e.Conflicts[0]
		return fmt.Sprintf("conflict on %s: %s is owned by %s", e.Ref.Resource(), c.Path, ownerNames(c.Owners))
	}
	paths := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		paths[i] = c.Path.String()
	}
	return fmt.Sprintf("conflict on %s: %d paths are owned by others: %s",
		e.Ref.Resource(), len(paths), strings.Join(paths, ", "))
}

// Hint names the ways out.
func (e *ConflictError) Hint() string {
	return fmt.Sprintf("for each path, take it with --take=%[1]s:PATH, leave it with --yield=%[1]s:PATH, "+
		"or put the live value into the manifest", e.Ref.Resource())
}

func ownerNames(owners []managedfields.Owner) string {
	if len(owners) == 0 {
		return "another manager"
	}
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = o.String()
	}
	return strings.Join(names, ", ")
}

// Offers says which choices settle the conflicts of an object.
type Offers struct {
	// Unleavable are the contested paths that cannot be yielded by name: those that the
	// manifest does not state, since their owner wrote them at another API version.
	Unleavable []fieldpath.Path
	// AdoptFrom is the manager whose adoption settles all conflicts; empty for none.
	AdoptFrom string
}

// Offers returns which choices would settle the open conflicts. Each of them is tried on the
// live object, so that a report offers none that decides nothing.
func (p Predictor) Offers(in *Prediction) (Offers, error) {
	p.OnDecision = nil
	var out Offers
	for _, c := range in.Conflicts {
		leaving := p
		leaving.Yield = append(slices.Clone(p.Yield), Choice{Path: fieldpath.Pattern(c.Path)})
		then, err := leaving.Evaluate(in.Item, in.Live)
		if err != nil || !slices.ContainsFunc(then.Yielded, c.Path.Equal) {
			out.Unleavable = append(out.Unleavable, c.Path)
		}
	}
	manager := soleOwner(in.Conflicts)
	if manager == "" || managedfields.IsPerson(manager) || in.Live == nil {
		return out, nil
	}
	from := p.AdoptFrom
	from.Always = append(slices.Clone(from.Always), manager)
	adoption, err := adopt.Plan(in.Live, p.Manager, from)
	if err != nil {
		return out, err
	}
	isLeft := func(o managedfields.Owner) bool { return !slices.Contains(adoption.Adopted, o) }
	if !slices.ContainsFunc(in.Conflicts, func(c managedfields.Conflict) bool { return slices.ContainsFunc(c.Owners, isLeft) }) {
		out.AdoptFrom = manager
	}
	return out, nil
}

// soleOwner returns the manager that owns everything that is contested; empty if there are
// several, or if its fields have no manager.
func soleOwner(conflicts []managedfields.Conflict) string {
	sole := ""
	for _, c := range conflicts {
		if len(c.Owners) == 0 {
			return ""
		}
		for _, owner := range c.Owners {
			if owner.Manager == managedfields.BeforeFirstApply || sole != "" && owner.Manager != sole {
				return ""
			}
			sole = owner.Manager
		}
	}
	return sole
}

// sort divides what the apply would overwrite into conflicts that the user takes,
// conflicts without a decision, and values whose owners are adopted.
func (p Predictor) sort(in *Prediction, contested []managedfields.Conflict) {
	in.Conflicts = p.open(in, contested)
	for _, c := range contested {
		if in.adopted(c) {
			in.Overwritten = append(in.Overwritten, c)
		} else if by, takes := p.taker(in.Item, c); takes {
			p.report(in.Item, c.Path, Taking, by)
			in.Taken = append(in.Taken, c)
		}
	}
}

// open returns the conflicts without a decision.
func (p Predictor) open(in *Prediction, contested []managedfields.Conflict) []managedfields.Conflict {
	var out []managedfields.Conflict
	for _, c := range contested {
		if in.adopted(c) {
			continue
		}
		if _, takes := p.taker(in.Item, c); !takes {
			out = append(out, c)
		}
	}
	return out
}
