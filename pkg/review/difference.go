package review

import (
	"cmp"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Difference is a difference between an outcome and the reviewed outcome. It concerns the path or,
// if Path is empty, the whole object.
type Difference struct {
	Ref  object.Ref
	Path string
	// Was is the reviewed change and Now is the current change; nil for no change.
	Was, Now             *Change
	WasAction, NowAction event.Action
}

// By returns the other owner that most recently wrote the path; nil if unknown.
func (d Difference) By() *managedfields.Owner {
	if d.Now == nil || len(d.Now.By) == 0 {
		return nil
	}
	last := slices.MaxFunc(d.Now.By, func(a, b managedfields.Owner) int { return a.Time.Compare(b.Time) })
	return &last
}

// Differences returns the differences between two outcomes, sorted. Values of Secrets are masked.
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
		if w.Digest() != n.Digest() || w.partly && !w.shows(n) {
			all = append(all, differencesOf(w, n)...)
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Or(a.Ref.Compare(b.Ref), cmp.Compare(a.Path, b.Path)) })
	return all
}

func of(outcomes map[object.Key]Outcome, key object.Key, ref object.Ref) Outcome {
	if o, ok := outcomes[key]; ok {
		return o
	}
	return Outcome{Ref: ref, Action: event.None}
}

// differencesOf returns the differences between two outcomes of an object. It returns a single
// difference for the whole object if no path differs, or if the actions differ and one of them is
// not update, share or none.
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

// takes reports whether the outcome takes fields, has a conflict, or deletes the object.
func (o Outcome) takes() bool {
	return o.Action == event.Recreate || slices.ContainsFunc(o.Changes, func(c Change) bool {
		return c.Kind == managedfields.TakenOver || c.Kind == managedfields.Contested
	})
}

// Confirms returns the differences between the plan and an object's outcome; nil if there are none.
// A create needs no comparison, because it fails if the object exists. An unchecked object counts
// as confirmed unless its outcome takes fields, has a conflict, or deletes the object.
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
	// Do not reveal a Secret's values.
	return []Difference{{Ref: c.Ref, WasAction: was.Action, NowAction: now.Action}}
}
