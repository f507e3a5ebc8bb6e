package review

import (
	"cmp"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Difference is a difference between an outcome and the reviewed outcome. It concerns the path or,
// if Path is empty, the whole object.
type Difference struct {
	Ref  object.Ref
	Path string
	// Was is the reviewed change and Now is the current change; nil for no change.
	Was, Now             *Change
	WasAction, NowAction event.Action
	// WasOwners and NowOwners say how the owners of the path change; both are empty if only the value
	// differs.
	WasOwners, NowOwners string
	// Replaced means that the object is not the reviewed one, but another one of the same name.
	Replaced bool
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
// hide masks a text as the output of this run does; it may be nil.
func Differences(was, now map[object.Key]Outcome, hide func(string) string) []Difference {
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
		if w.Digest() != n.Digest() || w.partly && !w.shows(n, hide) {
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
	if whole.Replaced = was.isOtherThan(now); whole.Replaced {
		return []Difference{whole}
	}
	var all []Difference
	each := func(path string, set func(d *Difference)) {
		i := slices.IndexFunc(all, func(d Difference) bool { return d.Path == path })
		if i < 0 {
			i, all = len(all), append(all, whole)
			all[i].Path = path
		}
		set(&all[i])
	}
	for i := range was.Changes {
		each(was.Changes[i].Path, func(d *Difference) { d.Was = &was.Changes[i] })
	}
	for i := range now.Changes {
		each(now.Changes[i].Path, func(d *Difference) { d.Now = &now.Changes[i] })
	}
	all = slices.DeleteFunc(all, func(d Difference) bool { return d.Was != nil && d.Now != nil && asText(d.Was) == asText(d.Now) })
	wasOwners, nowOwners := was.ownersAt(), now.ownersAt()
	for _, paths := range []map[string][]string{wasOwners, nowOwners} {
		for path := range paths {
			w, n := strings.Join(wasOwners[path], ", "), strings.Join(nowOwners[path], ", ")
			if w != n {
				each(path, func(d *Difference) { d.WasOwners, d.NowOwners = w, n })
			}
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Compare(a.Path, b.Path) })
	comesOrGoes := func(a event.Action) bool { return a != event.Update && a != event.Share && a != event.None }
	if len(all) == 0 || was.Action != now.Action && (comesOrGoes(was.Action) || comesOrGoes(now.Action)) {
		return []Difference{whole}
	}
	return all
}

// isOtherThan reports whether the outcomes concern two objects of the same name.
func (o Outcome) isOtherThan(now Outcome) bool {
	return o.UID != "" && now.UID != "" && o.UID != now.UID
}

// isTaking reports whether the outcome takes fields, has a conflict, or deletes the object.
func (o Outcome) isTaking() bool {
	return o.Action == event.Recreate || slices.ContainsFunc(o.Changes, func(c Change) bool {
		return c.Kind == managedfields.TakenOver || c.Kind == managedfields.Contested
	})
}

// Stored returns the differences between the plan and the outcome of a write. In contrast to
// Confirms, it compares the fields of a new object. An unchecked object has no differences. A
// recreated one is compared with predicted, which are its fields by the dry run that was reviewed; nil
// if they are unknown.
func (p *Plan) Stored(c event.Compared, predicted map[string]any) []Difference {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, now := c.Ref.Key(), OutcomeOf(c)
	was, secret := p.secrets[key]
	if !secret {
		was = of(p.outcomes, key, c.Ref)
	}
	if was.Action == event.Recreate && predicted != nil {
		was.Action, was.After = event.Create, predicted
	}
	if was.Unchecked || was.Action != event.Create && was.Action != event.Update {
		return nil
	}
	if was.Action == event.Create {
		was.Changes, now.Changes = leavesOf(was.After), leavesOf(now.After)
	}
	was, now = was.valuesOnly(), now.valuesOnly()
	switch {
	case asText(was.Changes) == asText(now.Changes):
		return nil
	}
	found := differencesOf(was, now)
	if secret {
		for i := range found {
			found[i].Was, found[i].Now = found[i].Was.hidden(), found[i].Now.hidden()
		}
	}
	return found
}

// hidden returns a change that shows only whether there are values. The receiver can be nil.
func (c *Change) hidden() *Change {
	if c == nil {
		return nil
	}
	out := *c
	for _, value := range []*any{&out.From, &out.To} {
		if *value != nil {
			*value = redact.Mask
		}
	}
	return &out
}

// valuesOnly returns an outcome without owners, which a write may change.
func (o Outcome) valuesOnly() Outcome {
	o.Action, o.UID, o.Ownership = event.Update, "", nil
	changes := o.Changes
	o.Changes = nil
	for _, c := range changes {
		kind := c.Kind
		if kind == managedfields.TakenOver {
			kind = managedfields.Changed
		}
		o.Changes = append(o.Changes, Change{Path: c.Path, Kind: kind, From: c.From, To: c.To})
	}
	sortChanges(o.Changes)
	return o
}

// leavesOf returns the fields of a new object as changes.
func leavesOf(content map[string]any) []Change {
	var out []Change
	var visit func(path fieldpath.Path, value any)
	visit = func(path fieldpath.Path, value any) {
		fields, isMap := value.(map[string]any)
		if !isMap || len(fields) == 0 {
			out = append(out, Change{Path: path.String(), Kind: managedfields.Added, To: value})
			return
		}
		for name, field := range fields {
			visit(append(path.Clone(), fieldpath.Field(name)...), field)
		}
	}
	visit(nil, content)
	return out
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
	case was.Action == event.Create && now.Action == event.Create, was.Unchecked && !now.isTaking():
		return nil
	}
	if !secret {
		return differencesOf(was, now)
	}
	// Do not reveal a Secret's values.
	return []Difference{{Ref: c.Ref, WasAction: was.Action, NowAction: now.Action, Replaced: was.isOtherThan(now)}}
}
