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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// Diff and apply report the same action, and the same paths and owners of conflicting, taken,
// removed and released fields, except for the differences that docs/diff.md lists.
func TestDiffAndApplyReportTheSame(t *testing.T) {
	compare := 0
	classes := map[string]int{}
	cases := eachHistory(t, func(t *testing.T, h *history) {
		p := predict.Predictor{Manager: us}
		switch h.IntN(4) {
		case 0:
			p.Take = []predict.Choice{{}}
		case 1:
			p.AdoptFrom = adopt.From{Always: []string{"helm", "edit"}}
		case 2:
			p.Yield = []predict.Choice{{Manager: predict.AnyManager}}
		}
		says, differs := compared(t, h.Server, h.manifest, p)
		did, err := applied(t, h.Server, h.manifest, p)
		if says.Err != nil || did.Action == event.Failed || err != nil && did.Action != event.InConflict || differs != nil && !errors.Is(differs, diff.ErrDiffers) {
			return // the server refuses it
		}
		compare++
		differ := func(class string, more ...any) {
			if len(did.Adopted) > 0 {
				class = "adopted, " + class
			}
			if classes[class]++; slices.Contains(neverDiffers, class) {
				t.Errorf("%s %v: diff reports %s %v, apply reports %s", class, more, says.Action, says.Changes, did.Action)
			}
		}
		if want := spokenBy(says); want != did.Action {
			differ("action")
		}
		of := func(kind managedfields.ChangeKind) []managedfields.Change {
			return slices.DeleteFunc(slices.Clone(says.Changes), func(c managedfields.Change) bool { return c.Kind != kind })
		}
		var contested []managedfields.Change
		for _, c := range did.Conflicts {
			contested = append(contested, c.Change())
		}
		if did.Action == event.InConflict {
			differing(of(managedfields.Contested), contested, "contested", differ)
			return
		}
		differing(of(managedfields.TakenOver), did.Taken, "taken", differ)
		isDefaulted := func(c managedfields.Change) bool { return c.Kind == managedfields.Changed }
		differing(of(managedfields.Removed), slices.DeleteFunc(slices.Clone(did.Removed), isDefaulted), "removed", differ)
		differing(of(managedfields.Released), did.Released, "released", differ)
		if !slices.EqualFunc(says.Yielded, did.Yielded, fieldpath.Path.Equal) {
			differ("yielded", says.Yielded, did.Yielded)
		}
		if !slices.Equal(says.Adopted, did.Adopted) || says.OnlyOwners != did.OnlyOwners {
			differ("adopted", says.Adopted, did.Adopted, says.OnlyOwners, did.OnlyOwners)
		}
		if (says.Sharing == nil) != (did.Sharing == nil) || says.Sharing != nil && says.Sharing.String() != did.Sharing.String() {
			differ("sharing", says.Sharing, did.Sharing)
		}
	})
	different := 0
	for _, n := range classes {
		different += n
	}
	t.Logf("%d of %d compared: %v", compare, cases, classes)
	if cases >= 300 && compare < cases/2 || different > max(2, cases/25) {
		t.Error("too few comparisons, or too many differences: the test proves nothing")
	}
}

// neverDiffers are the differences that no page documents.
var neverDiffers = []string{
	"contested: only diff", "contested: only apply", "contested: owners", "taken: only diff", "taken: owners",
	"released: only apply", "action", "yielded", "adopted", "sharing",
}

// spokenBy maps diff's actions to apply's.
func spokenBy(says event.Compared) event.Action {
	if slices.ContainsFunc(says.Changes, func(c managedfields.Change) bool { return c.Kind == managedfields.Contested }) {
		return event.InConflict
	}
	switch says.Action {
	case event.Create:
		return event.Created
	case event.Update:
		return event.Configured
	case event.Share:
		return event.Shared
	case event.None:
		return event.Unchanged
	}
	return says.Action
}

func differing(diff, apply []managedfields.Change, what string, differ func(string, ...any)) {
	touches := func(a managedfields.Change) func(managedfields.Change) bool {
		return func(b managedfields.Change) bool { return a.Path.HasPrefix(b.Path) || b.Path.HasPrefix(a.Path) }
	}
	equals := func(a managedfields.Change) func(managedfields.Change) bool {
		return func(b managedfields.Change) bool { return a.Path.Equal(b.Path) }
	}
	for _, c := range diff {
		i := slices.IndexFunc(apply, equals(c))
		switch {
		case i < 0 && slices.ContainsFunc(apply, touches(c)):
			differ(what+": diff names a parent or child", c.Path, apply)
		case i < 0:
			differ(what+": only diff", c.Path, apply)
		case !slices.EqualFunc(c.Owners, apply[i].Owners, managedfields.Owner.Equal):
			differ(what+": owners", c.Path, c.Owners, apply[i].Owners)
		}
	}
	for _, c := range apply {
		if !slices.ContainsFunc(diff, touches(c)) {
			differ(what+": only apply", c)
		}
	}
}
