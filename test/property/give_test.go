package property_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Giving fields changes no value and no other owner, whatever was written before, by any manager
// and in any version. The effect is right: an applier that has given a field no longer removes it,
// and its receiver applies its value without a conflict (edge cases 6, 7, 10).
func TestGive(t *testing.T) {
	var given, applied, survived, released int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		before := at(t, h.Server, h)
		entries, err := managedfields.Entries(before)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return
		}
		giver := entries[h.IntN(len(entries))]
		paths := pathsIn(giver.Fields)
		if len(paths) == 0 {
			return
		}
		w := transfer.Wish{
			From: []string{giver.Manager}, To: pick(h.random, us, "helm", "edit", "team-b", "newcomer"),
			As:   pick(h.random, managedfields.Apply, managedfields.Update),
			Mode: pick(h.random, transfer.Move, transfer.Move, transfer.Share, transfer.Release),
		}
		for range 1 + h.IntN(3) {
			w.Paths = append(w.Paths, pick(h.random, paths...))
		}
		out, err := transfer.Give(entries, w)
		if err != nil {
			t.Skip(err) // for example of the status
		}
		if len(out.Given) == 0 {
			return
		}
		h.say(fmt.Sprintf("give %v from %s to %s as %s: %s", w.Paths, giver.Owner, w.To, w.As, w.Mode), nil)
		after := h.set(t, h.Server, before, out.Entries)
		given++
		if !sameContent(before, after) {
			t.Errorf("values changed:\n%v\n%v", before.Object, after.Object)
		}
		h.onlyThose(t, before, after, w, out)

		if w.Mode == transfer.Release {
			released++
			h.unowned(t, after, out)
			return
		}
		if h.stays(t, after, giver.Owner, out) {
			survived++
		}
		if h.receives(t, after, w, out) {
			applied++
		}
	})
	t.Logf("%d given, %d applied by the receiver, %d outlived the giver, %d released", given, applied, survived, released)
	if cases >= 300 && (given < cases/3 || applied < cases/20 || survived < cases/20 || released < cases/20) {
		t.Error("too few cases of some kind: the test proves nothing")
	}
}

// set replaces the managed fields, conditional on the object's version.
func (h *history) set(t *testing.T, s *Server, u *unstructured.Unstructured, entries []managedfields.Entry) *unstructured.Unstructured {
	t.Helper()
	fields, err := managedfields.Encode(entries)
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.SetManagedFields(t.Context(), object.Kind{}, u, fields)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// raw returns each owner's fields in an object, read only with API machinery.
func raw(t *testing.T, u *unstructured.Unstructured) map[string]*smd.Set {
	t.Helper()
	out := map[string]*smd.Set{}
	for _, e := range u.GetManagedFields() {
		set := &smd.Set{}
		if e.FieldsV1 != nil {
			if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
				t.Fatal(err)
			}
		}
		out[nameOfEntry(e)] = set
	}
	return out
}

func nameOfEntry(e metav1.ManagedFieldsEntry) string {
	return fmt.Sprint(e.Manager, " ", e.Operation, " ", e.Subresource, " ", e.APIVersion)
}

func nameOfOwner(o managedfields.Owner) string {
	return fmt.Sprint(o.Manager, " ", o.Operation, " ", o.Subresource, " ", o.APIVersion)
}

// onlyThose compares the owners before and after: only given fields have other owners. It ignores
// fields whose owner becomes the sender because the server sets their default at every write.
func (h *history) onlyThose(t *testing.T, before, after *unstructured.Unstructured, w transfer.Wish, out transfer.Outcome) {
	t.Helper()
	was, is := raw(t, before), raw(t, after)
	gone, come := map[string]*smd.Set{}, map[string]*smd.Set{}
	add := func(to map[string]*smd.Set, who string, p fieldpath.Path) {
		if to[who] == nil {
			to[who] = &smd.Set{}
		}
		to[who].Insert(smd.Path(p))
	}
	for _, g := range out.Given {
		if !slices.ContainsFunc(w.Paths, func(p fieldpath.Path) bool {
			return g.Path.HasPrefix(p) || g.Shared && p.HasPrefix(g.Path[:len(g.Path)-1])
		}) {
			t.Errorf("%s was given, but not requested", g.Path)
		}
		if !g.Shared {
			add(gone, nameOfOwner(g.From), g.Path)
		}
		if w.Mode != transfer.Release {
			add(come, nameOfOwner(g.To), g.Path)
		}
	}
	sender := is["kubectl-k8sconnect Update  "+after.GetAPIVersion()]
	names := slices.Concat(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "kubectl-k8sconnect Update  "+after.GetAPIVersion() {
			continue
		}
		want := or(was[name]).Difference(or(gone[name])).Union(or(come[name])).Difference(or(sender))
		if got := or(is[name]).Difference(or(sender)); !got.Equals(want) {
			t.Errorf("%s owns\n%s\nwant\n%s", name, got, want)
		}
	}
}

func or(s *smd.Set) *smd.Set {
	if s == nil {
		return &smd.Set{}
	}
	return s
}

// stays applies an empty manifest as the giver: the given fields stay in the object. It reports
// whether there were any.
func (h *history) stays(t *testing.T, after *unstructured.Unstructured, giver managedfields.Owner, out transfer.Outcome) bool {
	t.Helper()
	if giver.Operation != managedfields.Apply || giver.APIVersion != after.GetAPIVersion() {
		return false
	}
	s := h.Copy()
	nothing := h.empty(giver.APIVersion)
	if _, err := s.Apply(t.Context(), object.Kind{}, nothing, object.Write{Manager: giver.Manager, Force: true}); err != nil {
		return false // for example a list item that others own, without its key
	}
	now := at(t, s, h)
	for _, g := range out.Given {
		if g.Inner || !g.Path.Same(after.Object, now.Object) {
			v, _ := g.Path.Get(after.Object)
			is, _ := g.Path.Get(now.Object)
			if !g.Inner && !hollow(v) {
				t.Errorf("%s changed from %v to %v when %s applied nothing", g.Path, v, is, giver)
			}
		}
	}
	return true
}

// receives applies the receiver's fields with their live values: no conflict, and no value changes.
// It reports whether there were any.
func (h *history) receives(t *testing.T, after *unstructured.Unstructured, w transfer.Wish, out transfer.Outcome) bool {
	t.Helper()
	if w.As != managedfields.Apply || w.Mode == transfer.Share {
		return false
	}
	entries, err := managedfields.Entries(after)
	if err != nil {
		t.Fatal(err)
	}
	mine, ok := managedfields.AppliedBy(entries, w.To)
	if !ok || mine.APIVersion != after.GetAPIVersion() {
		return false
	}
	next := &unstructured.Unstructured{Object: managedfields.Project(after.Object, mine.Fields)}
	bare := h.empty(mine.APIVersion)
	for _, name := range []string{"apiVersion", "kind"} {
		next.Object[name] = bare.Object[name]
	}
	next.SetName(bare.GetName())
	next.SetNamespace(bare.GetNamespace())
	s := h.Copy()
	now, err := s.Apply(t.Context(), object.Kind{}, next, object.Write{Manager: w.To})
	if len(causes(err)) > 0 {
		t.Errorf("%s applied what it received, but was refused: %v", w.To, err)
	}
	if err != nil {
		return false
	}
	for _, g := range out.Given {
		if !g.Path.Same(after.Object, now.Object) && !g.Inner {
			t.Errorf("%s changed although %s applied its value", g.Path, w.To)
		}
	}
	return true
}

// unowned applies another value to a released field as a new client: that is no conflict, unless
// others still own the field.
func (h *history) unowned(t *testing.T, after *unstructured.Unstructured, out transfer.Outcome) {
	t.Helper()
	is := raw(t, after)
	for _, g := range out.Given {
		v, _ := g.Path.Get(after.Object)
		_, text := v.(string)
		last := g.Path[len(g.Path)-1]
		if held := slices.ContainsFunc(slices.Collect(maps.Values(is)), func(s *smd.Set) bool { return s.Has(smd.Path(g.Path)) }); held || !text || last.FieldName == nil {
			continue
		}
		next := &unstructured.Unstructured{Object: managedfields.Project(after.Object, fieldpath.NewSet(g.Path))}
		bare := h.empty(after.GetAPIVersion())
		fieldpath.Put(next.Object, g.Path, "other")
		next.SetGroupVersionKind(bare.GroupVersionKind())
		next.SetName(bare.GetName())
		next.SetNamespace(bare.GetNamespace())
		_, err := h.Copy().Apply(t.Context(), object.Kind{}, next, object.Write{Manager: "newcomer"})
		for _, contested := range causes(err) {
			if contested == g.Path.Unquoted() {
				t.Errorf("%s was released, but a newcomer is refused: %v", g.Path, err)
			}
		}
	}
}

// empty returns a manifest without fields.
func (h *history) empty(apiVersion string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": "Thing", "metadata": map[string]any{"name": "x", "namespace": "shop"},
	}}
}

func pathsIn(set *fieldpath.Set) []fieldpath.Path {
	var out []fieldpath.Path
	fieldpath.Each(set, func(p fieldpath.Path) { out = append(out, p.Clone()) })
	return out
}
