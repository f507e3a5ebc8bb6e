package predict

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

var errOtherVersion = errors.New("your last apply was at another API version; after this apply, compare again")

// Additions returns what the owners for which counts returns true have added to an object that is as
// an apply of the item has left it. It leaves out values that may be defaults.
func (p Predictor) Additions(item plan.Item, live *unstructured.Unstructured, counts func(managedfields.Owner) bool) ([]exclusive.Addition, error) {
	return exclusive.Additions(p.additions(item, live, counts))
}

func (p Predictor) additions(item plan.Item, live *unstructured.Unstructured, counts func(managedfields.Owner) bool) exclusive.Question {
	return exclusive.Question{
		Live: live, Manifest: item.Object, Manager: p.Manager, Counts: counts, NamesOnly: noop.SetsNothing(item.Object.Object),
		ByDesign: ByDesign(item.GVK.GroupKind(), item.Object),
		Left: func(path fieldpath.Path, owners []managedfields.Owner) bool {
			return p.Leaves(item, path, owners)
		},
	}
}

// surplus returns the question of what the apply removes.
func (p Predictor) surplus(in *Prediction) exclusive.Question {
	q := p.additions(in.Item, in.Live, func(o managedfields.Owner) bool { return p.Exclusive(in.Item, o) })
	left := q.Left
	q.Left = func(path fieldpath.Path, owners []managedfields.Owner) bool {
		return left(path, owners) || len(owners) > 0 && in.Adoption.Drops(path, owners)
	}
	q.Sent = in.Body
	return q
}

// possibleSurplus includes the values that may be defaults.
func (p Predictor) possibleSurplus(in *Prediction) ([]exclusive.Addition, error) {
	if p.Exclusive == nil || in.Live == nil {
		return nil, nil
	}
	q := p.surplus(in)
	q.Created = in.Item.Object
	return exclusive.Additions(q)
}

// doubtSurplus makes the run ask the server about an object to which others may have added values.
func (p Predictor) doubtSurplus(in *Prediction) error {
	if in.Verdict != noop.Unchanged && in.Verdict != noop.Clear {
		return nil
	}
	found, err := p.possibleSurplus(in)
	if len(found) > 0 {
		in.Verdict = noop.Doubtful
	}
	return err
}

// findSurplus extends the adoption by what others have added. Only the server knows which values are
// defaults, so findSurplus asks it for a new object. If the server refuses that, values that may be
// defaults stay.
func (p Predictor) findSurplus(ctx context.Context, server Server, in *Prediction) error {
	in.Surplus, in.Undecided, in.unrecorded = nil, nil, nil
	possible, err := p.possibleSurplus(in)
	if err != nil || p.Exclusive == nil || in.Live == nil {
		return err
	}
	if len(possible) > 0 {
		q := p.surplus(in)
		created, refusal := p.alone(ctx, server, in, freedWith(in.Live, in.Body)...)
		switch {
		case refusal == nil:
			q.Created = created
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if q.Unrecorded, err = p.unrecorded(ctx, server, in); err != nil {
			return err
		}
		in.unrecorded = q.Unrecorded
		if in.Surplus, err = exclusive.Additions(q); err != nil {
			return err
		}
		in.Surplus = withNodePorts(in, withAlias(in, in.Surplus), q.Created)
		if len(in.Surplus) < len(possible) {
			in.Undecided = refusal
		}
	}
	return p.removeSurplus(in)
}

// unrecorded returns the fields of an object without any owner, or nil if it has owners. In the answer to an
// apply, the server attributes these fields to before-first-apply, with the keys of list items.
func (p Predictor) unrecorded(ctx context.Context, server Server, in *Prediction) (*fieldpath.Set, error) {
	if len(in.Live.GetManagedFields()) > 0 || !noop.SetsNothing(in.Item.Object.Object) {
		return nil, nil
	}
	how := p.probe()
	how.Force = true
	answer, err := server.Apply(ctx, in.Item.Kind, in.asked(in.Body), how)
	if err != nil {
		return nil, err
	}
	entries, err := managedfields.Entries(answer)
	out := fieldpath.NewSet()
	for _, e := range entries {
		if e.Manager == managedfields.BeforeFirstApply {
			out = out.Union(e.Fields)
		}
	}
	return out, err
}

// withAlias adds the deprecated alias of a Pod's serviceAccountName, from which the server would set the
// name again. An apply of the name makes its manager no owner of the alias.
func withAlias(in *Prediction, found []exclusive.Addition) []exclusive.Addition {
	spec, _, _, _ := contradiction(in.Live)
	i := slices.IndexFunc(found, func(a exclusive.Addition) bool {
		return a.Path.Equal(append(spec.Clone(), fieldpath.FieldElement(accountName)))
	})
	if spec == nil || i < 0 {
		return found
	}
	path := append(spec.Clone(), fieldpath.FieldElement(accountAlias))
	v, there := path.Get(in.Live.Object)
	_, declared := path.Get(in.Body.Object)
	known := slices.ContainsFunc(found, func(a exclusive.Addition) bool { return a.Path.Equal(path) })
	if !there || declared || known {
		return found
	}
	return append(found, exclusive.Addition{Path: path, Value: v, Owners: found[i].Owners})
}

// followsSurplus reports whether the path is the alias of a serviceAccountName that the apply removes. The
// answer still has the alias of that name.
func (in *Prediction) followsSurplus(path fieldpath.Path) bool {
	spec, _, _, _ := contradiction(in.Live)
	if spec == nil || !path.Equal(append(spec.Clone(), fieldpath.FieldElement(accountAlias))) {
		return false
	}
	name := append(spec.Clone(), fieldpath.FieldElement(accountName))
	return slices.ContainsFunc(in.Surplus, func(a exclusive.Addition) bool { return a.Path.Equal(name) })
}

// restoreAlias sets the deprecated alias of serviceAccountName, which an object without the name still
// has from that name, to the value that the manifest sets. The server would bring back the name from it.
func restoreAlias(body, without *unstructured.Unstructured) {
	spec, name, alias, _ := contradiction(body)
	if spec == nil || name != "" || alias == "" {
		return
	}
	pod := mapAt(spec, without.Object)
	if _, named := pod[accountName]; !named && pod != nil {
		pod[accountAlias] = alias
	}
}

// removeSurplus adds the removal of the surplus to the adoption. Fields that an earlier attempt of this run has
// made ours are still surplus, as long as no other client has written them.
func (p Predictor) removeSurplus(in *Prediction) error {
	surplus := make([]adopt.Surplus, len(in.Surplus))
	for i, a := range in.Surplus {
		surplus[i] = adopt.Surplus{Path: a.Path, Owners: a.Owners, Unrecorded: in.unrecorded}
	}
	var same bool
	if in.Adoption, same = in.Adoption.Remove(in.Live, in.Body, surplus); !same {
		in.Surplus, in.Undecided = nil, errOtherVersion
	}
	entries, err := managedfields.Entries(in.Live)
	if err != nil {
		return err
	}
	ours := managedfields.Managed(entries, p.Manager)
	for _, e := range in.earlier {
		v, there := e.Path.Get(in.Live.Object)
		_, declared := e.Path.Get(in.Body.Object)
		known := slices.ContainsFunc(in.Surplus, func(a exclusive.Addition) bool { return a.Path.Equal(e.Path) })
		if there && !declared && !known && fieldpath.Holds(ours, e.Path) && fieldpath.Equal(v, e.Value) {
			in.Surplus = append(in.Surplus, e)
		}
	}
	slices.SortFunc(in.Surplus, func(a, b exclusive.Addition) int { return a.Path.Compare(b.Path) })
	return nil
}

// afterRemoval is [Predictor.afterAdoption]. A surplus value that something in the cluster adds again
// to every update stays with its owners.
func (p Predictor) afterRemoval(ctx context.Context, server Server, in *Prediction) error {
	answer := in.Answer
	if err := p.afterAdoption(ctx, server, in); err != nil {
		return p.unremovable(ctx, server, in, answer, err)
	}
	all := len(in.Surplus)
	in.Surplus = slices.DeleteFunc(in.Surplus, func(a exclusive.Addition) bool {
		return a.Path.Same(in.Live.Object, in.Answer.Object)
	})
	if len(in.Surplus) == all {
		return nil
	}
	if err := p.removeSurplus(in); err != nil {
		return err
	}
	in.Answer = answer
	if !in.Adopts() {
		return nil
	}
	return p.afterAdoption(ctx, server, in)
}

// undecidedText returns a warning about the values that are not compared; empty if there are none.
func (in *Prediction) undecidedText() string {
	switch {
	case in.Undecided == nil:
		return ""
	case errors.Is(in.Undecided, errOtherVersion):
		return "the fields that others have added are not compared: " + in.Undecided.Error()
	}
	return "fields that may be defaults are not compared, because the server refuses a new object: " + redact.Error(in.Item.Object, in.Undecided).Error()
}

// SurplusChanges returns the surplus as changes, and which of the given changes are not part of it.
func (in *Prediction) SurplusChanges(answer *unstructured.Unstructured, changes []managedfields.Change) (surplus, rest []managedfields.Change) {
	for _, a := range in.Surplus {
		if answer == nil || !a.Path.Same(in.Live.Object, answer.Object) {
			surplus = append(surplus, managedfields.Change{Path: a.Path, From: a.Value, Kind: managedfields.Surplus, Owners: a.Owners})
		}
	}
	for _, c := range changes {
		// If the manifest sets a map to {}, our entry contains the map, but what others put into it is theirs.
		declared, _ := c.Path.Get(in.Body.Object)
		isEmptied := fieldpath.IsContainer(declared) && fieldpath.IsEmpty(declared)
		if !slices.ContainsFunc(surplus, func(s managedfields.Change) bool {
			return c.Path.HasPrefix(s.Path) || isEmptied && s.Path.HasPrefix(c.Path)
		}) {
			rest = append(rest, c)
		}
	}
	return surplus, rest
}

// SurplusPaths returns the paths of the surplus.
func (in *Prediction) SurplusPaths() *fieldpath.Set {
	out := fieldpath.NewSet()
	for _, a := range in.Surplus {
		fieldpath.Insert(out, a.Path)
	}
	return out
}
