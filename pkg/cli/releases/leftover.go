package releases

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// attempt is an object as a failed revision contains it.
type attempt struct {
	revision int
	declared *unstructured.Unstructured
}

// leftovers returns the fields that only a failed revision set and that the upgrade leaves as they are. A
// client-side upgrade removes only fields of the base, and sets those of a kind that Helm does not know only if
// the next manifest and the base differ. Server-side apply removes no field that belongs to an update.
func (r *release) leftovers(p *piece) []event.Leftover {
	base := r.base[p.Ref.Key()]
	entries, err := managedfields.Entries(p.live)
	if base == nil || err != nil || r.out.ServerSide && r.migrates {
		return nil
	}
	after := p.after
	if after == nil {
		after = p.live
	}
	before, next := predict.WithoutStringData(base), predict.WithoutStringData(p.Declared)
	var out []event.Leftover
	add := func(l event.Leftover, path fieldpath.Path) {
		same := func(o event.Leftover) bool {
			return o.Revision == l.Revision && o.Listed == l.Listed && o.Stays == l.Stays
		}
		i := slices.IndexFunc(out, same)
		if i < 0 {
			i, out = len(out), append(out, l)
		}
		if !slices.ContainsFunc(out[i].Paths, path.Equal) {
			out[i].Paths = append(out[i].Paths, path)
		}
	}
	fieldpath.Each(fieldsOf(entries, r.isOwn).Leaves(), func(path fieldpath.Path) {
		live, is := path.Get(after.Object)
		tried, revision := r.tried(p, path)
		was, had := path.Get(before.Object)
		if !is || revision == 0 || had && fieldpath.Equal(was, tried) {
			return
		}
		intended, declared := path.Get(next.Object)
		l := event.Leftover{Ref: p.Ref, Revision: revision, Stays: !r.migrates || len(managedfields.HoldersOf(entries, path)) > 1}
		switch {
		case !declared && !had:
			add(l, whole(path, before, next))
		case declared && !fieldpath.Equal(intended, live) && fieldpath.Equal(tried, live):
			add(l, path.Clone())
		case declared && !had && r.chart == "":
			l.Listed = true
			add(l, whole(path, before, nil))
		}
	})
	return out
}

// tried returns the value that the last failed revision with a field gave it.
func (r *release) tried(p *piece, path fieldpath.Path) (value any, revision int) {
	for _, a := range r.attempts[p.Ref.Key()] {
		if v, has := path.Get(a.declared.Object); has && a.revision > revision {
			value, revision = v, a.revision
		}
	}
	return value, revision
}

// whole returns the outermost list item around a path that is in none of the manifests, or else the path.
func whole(path fieldpath.Path, manifests ...*unstructured.Unstructured) fieldpath.Path {
	for n := range path {
		item := path[:n+1]
		known := slices.ContainsFunc(manifests, func(u *unstructured.Unstructured) bool {
			if u == nil {
				return false
			}
			_, has := item.Get(u.Object)
			return has
		})
		if item[n].Key != nil && !known {
			return item.Clone()
		}
	}
	return path.Clone()
}

// fieldsOf returns the fields of some owners.
func fieldsOf(entries []managedfields.Entry, is func(managedfields.Owner) bool) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, e := range entries {
		if is(e.Owner) {
			set = set.Union(e.Fields)
		}
	}
	return set
}

// removes returns the fields of others that a client-side upgrade removes or resets to a default: Helm
// deletes each field that only the base sets, whoever owns it by now (createPatch in helm/helm,
// pkg/kube/client.go).
func (r *release) removes(p *piece) []managedfields.Conflict {
	base := r.base[p.Ref.Key()]
	entries, err := managedfields.Entries(p.live)
	if base == nil || err != nil || p.after == nil {
		return nil
	}
	before, next := predict.WithoutStringData(base), predict.WithoutStringData(p.Declared)
	var out []managedfields.Conflict
	others := func(o managedfields.Owner) bool { return o.Manager != r.out.Manager && o.Subresource != "status" }
	fieldpath.Each(fieldsOf(entries, others).Leaves(), func(path fieldpath.Path) {
		live, is := path.Get(p.live.Object)
		_, had := path.Get(before.Object)
		_, stays := path.Get(next.Object)
		now, has := path.Get(p.after.Object)
		if !is || !had || stays || has && fieldpath.Equal(live, now) {
			return
		}
		out = append(out, managedfields.Conflict{Path: path.Clone(), Yours: now, Live: live, HasLive: true, Owners: managedfields.HoldersOf(entries, path)})
	})
	managedfields.SortConflicts(out)
	return redact.Conflicts(p.Ref, out)
}
