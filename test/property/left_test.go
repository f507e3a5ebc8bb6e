package property_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// Fields that are no longer in the manifest are found from our entry before and after: fields that
// are gone from the object are reported as removed, shared fields as released, and no others. Diff
// reports the same removals (edge case 33).
func TestRemovedAndReleasedFieldsAreReported(t *testing.T) {
	var removed, released int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		p := predict.Predictor{Manager: us, Take: []predict.Choice{{}}}
		before := h.get(t)
		says, differs := compared(t, h.Server, h.manifest, p)
		did, err := applied(t, h.Server, h.manifest, p)
		if err != nil || did.Action == event.InConflict {
			return
		}
		after := h.get(t)
		was, err := managedfields.Entries(before)
		if err != nil {
			t.Fatal(err)
		}
		is, err := managedfields.Entries(after)
		if err != nil {
			t.Fatal(err)
		}
		ours, others := managedfields.Managed(is, us), managedfields.Others(is, us)
		reported := func(changes []managedfields.Change, p fieldpath.Path) bool {
			return slices.ContainsFunc(changes, func(c managedfields.Change) bool {
				return p.HasPrefix(c.Path) || c.Path.HasPrefix(p) // for a map, its contents are reported
			})
		}
		entry, _ := managedfields.AppliedBy(was, us)
		if entry.APIVersion != before.GetAPIVersion() {
			return // its paths are in another version
		}
		fieldpath.Each(entry.Fields, func(p fieldpath.Path) {
			v, had := p.Get(before.Object)
			if !had || fieldpath.Holds(ours, p) || hollow(v) {
				return
			}
			_, stays := p.Get(after.Object)
			kept := managedfields.HoldersOf(others, p)
			switch {
			case !stays:
				removed++
				if !reported(did.Removed, p) {
					t.Errorf("%s is gone, but apply reports %s", p, reportOf(did))
				}
				if differs == nil || !reported(says.Changes, p) && !reported(did.Taken, p) {
					t.Errorf("%s will be removed, but diff reports %v (%v)", p, says.Changes, differs)
				}
			case len(kept) > 0 && len(p) > 0 && !fieldpath.IsContainer(v):
				released++
				if !reported(did.Released, p) {
					t.Errorf("%s is kept by %v, but apply reports %s", p, kept, reportOf(did))
				}
			}
		})
		for _, c := range did.Removed {
			if _, stays := c.Path.Get(after.Object); stays && c.Kind == managedfields.Removed {
				t.Errorf("%s is reported as removed, but still exists", c.Path)
			}
		}
		for _, c := range did.Released {
			if len(managedfields.HoldersOf(others, c.Path)) == 0 {
				t.Errorf("%s is reported as released, but no other manager keeps it", c.Path)
			}
		}
		if differs != nil && !errors.Is(differs, diff.ErrDiffers) {
			t.Errorf("apply succeeds, but diff returns %v", differs)
		}
	})
	t.Logf("%d paths removed, %d released", removed, released)
	if cases >= 300 && (removed < cases/10 || released < cases/100) {
		t.Error("too few removed or released paths: the test proves nothing")
	}
}
