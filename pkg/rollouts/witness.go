package rollouts

import (
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// witness knows who wrote what: from the live object's managed fields, and from the webhook's
// records.
type witness struct {
	entries  []managedfields.Entry
	recorded []event.Transition
	used     []bool
}

// attribute sets the writers of a revision's changes from managed fields. later begins with the
// revision itself.
//
// A change of a value takes the path from all its owners, so an owner of a value that has not
// changed since then has written that value. It made the change if it is the only such owner and
// its last write is not later than the revision: a later one may have joined another owner, which
// has released the path since. The time of an undo may be unknown: the value may have been written again
// before the next revision.
func (w *witness) attribute(changes []event.RevisionChange, before state, later []state) {
	from, to := window(before, later[0])
	for i := range changes {
		c := &changes[i]
		if c.Order || c.Writer != nil || c.Kind == managedfields.Removed || w.given(c.Path) || !unchanged(*c, later[1:]) {
			continue
		}
		c.Owners = w.owners(c.Path)
		if len(c.Owners) != 1 || undone(later[0]) && len(later) > 1 {
			continue
		}
		if o := c.Owners[0]; !o.Time.IsZero() && !o.Time.Before(from) && !o.Time.After(to) {
			c.Writer, c.Time = &o, o.Time
		}
	}
}

// given reports whether a path was transferred without a change of its value, so that its owner did not
// write it.
func (w *witness) given(p fieldpath.Path) bool {
	return slices.ContainsFunc(w.recorded, func(t event.Transition) bool { return t.Kind == string(ownership.Given) && t.Path == p.String() })
}

// join sets writers and users from the webhook's records of takeovers. A record has only the time of
// a path's last transition, so a transition is joined only if it fits one revision. Times are in
// whole seconds: a transition in the second in which a revision was made may belong to the next one.
//
// An owner that changes its own value makes no transition. So a transition is not joined if the path
// may have been written again in the period: if there are later transitions of it, or several writes
// of the template. Nor is one joined to an undo, whose period has no known end.
func (w *witness) join(revisions []event.Revision, states []state, rollouts []event.Rollout) {
	for i, t := range w.recorded {
		if t.Gap || t.Cut || len(t.To) != 1 || t.Kind != string(ownership.Taken) {
			continue
		}
		var fits []*event.RevisionChange
		for n := 1; n < len(states); n++ {
			from, to := window(states[n-1], states[n])
			if t.Last.Before(from) || t.Last.After(to) || undone(states[n]) || writesIn(rollouts, from, to) > 1 || w.laterOf(t, to) {
				continue
			}
			for c := range revisions[n].Changes {
				if change := &revisions[n].Changes[c]; isOf(t, *change) && (t.FromValue != "" || n > 1 || t.Last.After(from)) {
					fits = append(fits, change)
				}
			}
		}
		if len(fits) == 1 {
			fits[0].Writer, fits[0].Time, fits[0].User = &t.To[0], t.Last, t.User
			w.used[i] = true
		}
	}
}

// absorb marks the transitions that repeat what a revision says.
func (w *witness) absorb(revisions []event.Revision) {
	for i, t := range w.recorded {
		if t.Gap || t.Cut || len(t.To) != 1 {
			continue
		}
		for _, r := range revisions {
			for _, c := range r.Changes {
				same := c.Writer != nil && c.Writer.SameEntry(t.To[0]) && c.User == t.User && c.Time.Truncate(time.Second).Equal(t.Last.Truncate(time.Second))
				w.used[i] = w.used[i] || same && isOf(t, c)
			}
		}
	}
}

func (w *witness) laterOf(t event.Transition, to time.Time) bool {
	return slices.ContainsFunc(w.recorded, func(o event.Transition) bool {
		return o.Path == t.Path && o.Last.After(t.Last) && !o.Last.After(to)
	})
}

func writesIn(rollouts []event.Rollout, from, to time.Time) (n int) {
	for _, one := range rollouts {
		if !one.Time.Before(from) && !one.Time.After(to) {
			n++
		}
	}
	return n
}

// undone reports whether the period of a revision has no known end: a ReplicaSet that is used again is
// written later, too.
func undone(s state) bool { return s.again && !s.timed }

func isOf(t event.Transition, c event.RevisionChange) bool {
	if t.Path != c.Path.String() || c.Order {
		return false
	}
	return t.FromValue == "" || t.FromValue == c.From && t.ToValue == c.To
}

// window returns the earliest and the latest time of the writes that led to a revision, both in
// whole seconds and included.
func window(before, after state) (from, to time.Time) {
	from = before.revision.Time
	if from.IsZero() {
		from = before.revision.After
	}
	switch {
	case after.again:
		return from, after.latest
	case after.revision.Number == 0: // not rolled out yet
		return from, time.Unix(1<<40, 0)
	}
	return from, after.revision.Time
}

func unchanged(c event.RevisionChange, later []state) bool {
	path := c.Path[len(fieldpath.Field("spec", "template")):]
	return every(later, func(s state) bool {
		v, has := path.Get(s.template)
		return has && fieldpath.Equal(v, c.To)
	})
}

func (w *witness) owners(p fieldpath.Path) []managedfields.Owner {
	if owners := managedfields.HoldersOf(w.entries, p); len(owners) > 0 {
		return owners
	}
	owners, err := managedfields.Owners(w.entries, p) // The path may be inside an atomic value.
	if err != nil {
		return nil
	}
	return owners
}

// ownsOnlyImages reports whether an owner owns nothing in the template but images and annotations,
// as tools do that follow a registry. kubectl does not count: set image looks the same, and so does a
// client-side apply after another tool took the rest.
func (w *witness) ownsOnlyImages(o managedfields.Owner) bool {
	if strings.HasPrefix(o.Manager, "kubectl") || managedfields.IsControlPlane(o.Manager) {
		return false
	}
	only, any := true, false
	template := fieldpath.Field("spec", "template")
	fieldpath.Each(managedfields.HeldBy(w.entries, o), func(p fieldpath.Path) {
		if !p.HasPrefix(fieldpath.Field("spec")) {
			return
		}
		any = any || isImage(p)
		only = only && (isImage(p) || p.HasPrefix(template.Child(fieldpath.FieldElement("metadata")).Child(fieldpath.FieldElement("annotations"))))
	})
	return only && any
}

func (w *witness) unused() []event.Transition {
	var out []event.Transition
	for i, t := range w.recorded {
		if !w.used[i] {
			out = append(out, t)
		}
	}
	return slices.Clip(out)
}
