package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Outcome describes the result of an apply for one object. Values of Secrets are not masked.
func (e *Engine) Outcome(p *predict.Prediction, anew *predict.Recreation) (event.Compared, error) {
	if anew != nil {
		return e.recreation(p, anew)
	}
	out := event.Compared{Ref: p.Item.Ref, Source: p.Item.Source, Action: event.None, Reason: p.Unchecked, Yielded: p.Yielded, Left: p.Left}
	view, err := e.Predictor.View(p, p.Answer)
	if err != nil {
		return out, err
	}
	if p.Live == nil {
		out.Action, out.After = event.Create, named(out.Ref, view.After)
		return out, nil
	}
	out.Before, out.After = view.Before, view.After
	entries, err := p.Entries(p.Live)
	if err != nil {
		return out, err
	}
	surplus, changes := p.SurplusChanges(p.Answer, view.Changes())
	if len(surplus) > 0 {
		shown := view.Set.Union(p.SurplusPaths())
		out.Before = managedfields.Project(p.Live.Object, shown)
		if p.Answer != nil {
			out.After = managedfields.Project(p.Answer.Object, shown)
		}
	}
	changes = managedfields.WithOwners(changes, entries, e.Predictor.Manager)
	out.Adopted, out.OnlyOwners = p.AdoptedFrom(), p.OnlyOwners(changes) && len(surplus) == 0
	attribute(changes, p, p.TakenFrom(p.Answer))
	left, err := e.Predictor.Left(p, p.Answer)
	if err != nil {
		return out, err
	}
	_, left = p.SurplusChanges(p.Answer, left)
	for _, change := range left {
		if p.Stays(change) {
			changes = append(changes, change)
			out.OnlyOwners = false
		}
	}
	changes = slices.Concat(changes, surplus, contestedBesides(changes, p))
	if len(changes) == 0 && !p.Adopts() {
		changes = e.Predictor.Unseen(p, p.Answer)
	}
	slices.SortStableFunc(changes, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	switch {
	case len(changes) > 0:
		out.Action, out.Changes = event.Update, changes
	case p.Adopts():
		out.Action = event.Share
	case p.Answer == nil || managedfields.SameApplied(p.Live, p.Answer, e.Predictor.Manager):
		return out, nil
	default:
		sharing, err := managedfields.SharingOf(p.Live, p.Answer, e.Predictor.Manager)
		if err != nil {
			return out, err
		}
		out.Action, out.Sharing = event.Share, &sharing
	}
	out.UID = p.Live.GetUID()
	out.Ownership, err = e.ownership(p, entries)
	return out, err
}

// Owned returns the fields of the live object that we own, in the form that After has in the outcome
// of this action.
func (e *Engine) Owned(p *predict.Prediction, action event.Action) (map[string]any, error) {
	view, err := e.Predictor.View(p, p.Live)
	if action == event.Create {
		return named(p.Item.Ref, view.After), err
	}
	return view.After, err
}

// contestedBesides returns the conflicts that are not visible in any change, such as two spellings
// of one value (edge case 84).
func contestedBesides(changes []managedfields.Change, p *predict.Prediction) []managedfields.Change {
	var out []managedfields.Change
	for _, c := range p.Conflicts {
		if !slices.ContainsFunc(changes, func(change managedfields.Change) bool {
			return change.Kind == managedfields.Contested && touch(change, c)
		}) {
			out = append(out, c.Change())
		}
	}
	return out
}

// attribute adds owners to changes, and marks conflicts and takeovers. Adopted fields count as
// ours. Owners such as before-first-apply appear only in conflicts.
func attribute(changes []managedfields.Change, p *predict.Prediction, taken []managedfields.Conflict) {
	adopted := func(o managedfields.Owner) bool { return slices.Contains(p.Adoption.Adopted, o) }
	for i := range changes {
		c := &changes[i]
		c.Owners = slices.DeleteFunc(c.Owners, adopted)
		for _, contested := range p.Conflicts {
			if touch(*c, contested) {
				c.Kind = managedfields.Contested
				c.Owners = union(c.Owners, contested.Owners)
			}
		}
		for _, taken := range taken {
			if touch(*c, taken) && c.Kind != managedfields.Removed && c.Kind != managedfields.Contested {
				c.Kind = managedfields.TakenOver
				c.Owners = union(c.Owners, taken.Owners)
			}
		}
	}
}

// touch reports whether a change is at, above or below a conflict. A change of order does not touch
// conflicts within the items.
func touch(change managedfields.Change, c managedfields.Conflict) bool {
	return change.Path.HasPrefix(c.Path) || !change.Order && c.Path.HasPrefix(change.Path)
}

func union(a, b []managedfields.Owner) []managedfields.Owner {
	all := slices.Concat(a, b)
	slices.SortFunc(all, managedfields.Owner.Compare)
	return slices.Compact(all)
}

// named returns the fields of a new object together with its kind, namespace and name, which have
// no owner.
func named(ref object.Ref, fields map[string]any) map[string]any {
	u := unstructured.Unstructured{Object: maps.Clone(fields)}
	if meta, ok := fields["metadata"].(map[string]any); ok {
		u.Object["metadata"] = maps.Clone(meta)
	}
	u.SetGroupVersionKind(ref.GVK)
	u.SetNamespace(ref.Namespace)
	u.SetName(ref.Name)
	return u.Object
}

// contestedOnly returns the result for an object that the server would refuse even if we took all
// conflicting fields.
func contestedOnly(p *predict.Prediction, refusal error) event.Compared {
	out := event.Compared{
		Ref: p.Item.Ref, Source: p.Item.Source, Action: event.Update, Yielded: p.Yielded, Left: p.Left,
		Err: redact.Error(p.Item.Object, refusal),
	}
	if p.Live != nil {
		out.UID = p.Live.GetUID()
	}
	for _, c := range p.Conflicts {
		out.Changes = append(out.Changes, c.Change())
	}
	return out
}

func (e *Engine) recreation(p *predict.Prediction, anew *predict.Recreation) (event.Compared, error) {
	view, err := e.Predictor.View(p, anew.Answer)
	changes := view.Changes()
	for _, lost := range anew.Lost {
		if !slices.ContainsFunc(changes, func(c managedfields.Change) bool { return lost.Path.HasPrefix(c.Path) }) {
			changes = append(changes, lost)
		}
	}
	slices.SortStableFunc(changes, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	return event.Compared{
		Ref: p.Item.Ref, Source: p.Item.Source, Action: event.Recreate, Reason: "deleted and recreated: " + anew.Reason,
		UID: anew.UID, Changes: changes, Before: view.Before, After: view.After,
	}, err
}

// withoutConflicts returns the changes as if no choice between owners were needed.
func withoutConflicts(changes []managedfields.Change) []managedfields.Change {
	out := slices.Clone(changes)
	for i := range out {
		if out[i].Kind == managedfields.Contested || out[i].Kind == managedfields.TakenOver {
			out[i].Kind, out[i].Owners = managedfields.Changed, nil
		}
	}
	return out
}
