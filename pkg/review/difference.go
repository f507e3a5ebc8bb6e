package review

import (
	"cmp"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Difference is one path of which something else would become than was reviewed, or an object of
// which that holds as a whole; then Path is empty.
type Difference struct {
	Ref  object.Ref
	Path string
	// Was and Now are what was reviewed and what there is now; nil where the path does not change.
	Was, Now *Change
	// WasAction and NowAction are those of the object.
	WasAction, NowAction event.Action
}

// By is the owner of the path that wrote last, besides us; nil if that is not known.
func (d Difference) By() *managedfields.Owner {
	if d.Now == nil || len(d.Now.By) == 0 {
		return nil
	}
	last := slices.MaxFunc(d.Now.By, func(a, b managedfields.Owner) int { return a.Time.Compare(b.Time) })
	return &last
}

// Differences returns where the outcomes of now are others than those that were reviewed, by object
// and path. Values of Secrets are masked in both, so another value alone is none.
func Differences(was, now map[object.Key]Outcome) []Difference {
	keys := map[object.Key]object.Ref{}
	for key, o := range was {
		keys[key] = o.Ref
	}
	for key, o := range now {
		keys[key] = o.Ref
	}
	var all []Difference
	for key, ref := range keys {
		w, n := of(was, key, ref), of(now, key, ref)
		if w.Digest() != n.Digest() {
			all = append(all, differencesOf(w, n)...)
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Or(a.Ref.Compare(b.Ref), cmp.Compare(a.Path, b.Path)) })
	return all
}

// of is the outcome of an object, which does not change if nothing is known of it.
func of(outcomes map[object.Key]Outcome, key object.Key, ref object.Ref) Outcome {
	if o, ok := outcomes[key]; ok {
		return o
	}
	return Outcome{Ref: ref, Action: event.None}
}

// differencesOf compares two outcomes of one object. If paths do not show why they differ, because one
// of them is to be created or deleted, it is the object as a whole.
func differencesOf(was, now Outcome) []Difference {
	whole := Difference{Ref: now.Ref, WasAction: was.Action, NowAction: now.Action}
	var all []Difference
	each := func(change Change, set func(d *Difference)) {
		i := slices.IndexFunc(all, func(d Difference) bool { return d.Path == change.Path })
		if i < 0 {
			i, all = len(all), append(all, whole)
			all[i].Path = change.Path
		}
		set(&all[i])
	}
	for i := range was.Changes {
		each(was.Changes[i], func(d *Difference) { d.Was = &was.Changes[i] })
	}
	for i := range now.Changes {
		each(now.Changes[i], func(d *Difference) { d.Now = &now.Changes[i] })
	}
	all = slices.DeleteFunc(all, func(d Difference) bool { return d.Was != nil && d.Now != nil && asText(d.Was) == asText(d.Now) })
	comesOrGoes := func(a event.Action) bool { return a != event.Update && a != event.Share && a != event.None }
	if len(all) == 0 || was.Action != now.Action && (comesOrGoes(was.Action) || comesOrGoes(now.Action)) {
		return []Difference{whole}
	}
	return all
}

// takes reports whether fields of other managers would become ours or are contested, or the object
// would be deleted.
func (o Outcome) takes() bool {
	return o.Action == event.Recreate || slices.ContainsFunc(o.Changes, func(c Change) bool {
		return c.Kind == managedfields.TakenOver || c.Kind == managedfields.Contested
	})
}

// Confirms returns how the outcome of an object, with the values of a Secret, differs from the one
// in the plan; nil if it does not. A creation binds to nothing being there, so it needs no fields. An
// object that no dry run could check was reviewed by its manifest, which a write without conflicts
// is held to, too.
func (p *Plan) Confirms(c event.Compared) []Difference {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, now := c.Ref.Key(), OutcomeOf(c)
	was, secret := p.secrets[key]
	if !secret {
		was = of(p.outcomes, key, c.Ref)
	}
	switch {
	case was.text() == now.text(), was.Action == event.None && now.Action == event.None:
		return nil
	case was.Action == event.Create && now.Action == event.Create, was.Unchecked && !now.takes():
		return nil
	}
	if !secret {
		return differencesOf(was, now)
	}
	// No value of a Secret may be named.
	return []Difference{{Ref: c.Ref, WasAction: was.Action, NowAction: now.Action}}
}
