package property_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
)

// After a rollback, every path that no other manager changed has its former value and owners, and
// other managers' later writes stay. The run takes, adopts and adds at random; other managers may
// write after it.
func TestRollbackRestoresValuesAndOwners(t *testing.T) {
	var back, others, taken, whole, refused int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		p := predict.Predictor{Manager: us, Take: []predict.Choice{{}}}
		if h.one(2) {
			p.AdoptFrom = adopt.From{Always: []string{pick(h.random, "edit", "helm", "team-b")}}
		}
		before := h.get(t)
		journal := &restore.Journal{}
		plan := planOf(t, h.Server, h.manifest)
		var did event.Applied
		engine := apply.Engine{Server: h.Server, Predictor: p, Journal: journal, Emit: func(e event.Event) {
			if a, ok := e.(event.Applied); ok {
				did = a
			}
		}}
		if err := engine.Run(t.Context(), plan); err != nil || did.Action == event.Unchanged && did.Sharing == nil {
			return // nothing was written, or only a part
		}
		after := h.get(t)
		if h.one(2) {
			for range 1 + h.IntN(3) {
				h.other(t)
			}
			others++
		}
		now := h.get(t)
		if len(did.Taken)+len(did.Adopted) > 0 {
			taken++
		}
		back++
		notes, err := journal.Notes(plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		end, reported, err := h.restored(t, notes)
		if err != nil {
			// If others own an empty map, list or item that we filled, the server turns it into
			// null and refuses that (structured-merge-diff): then nothing may have changed.
			if refused++; !apierrors.IsInvalid(err) && !strings.Contains(err.Error(), "may not have a null element") || !sameContent(now, end) || !sameOwners(now, end) {
				t.Error(err)
			}
			return
		}
		w := judged{before: heldOf(t, before), after: heldOf(t, after), now: heldOf(t, now), end: heldOf(t, end), left: reported.Left, unreturned: reported.Unreturned}
		w.judge(t)
		if sameContent(after, now) && sameOwners(after, now) {
			whole++
			if len(reported.Left)+len(reported.Unreturned) == 0 && !sameOwners(before, end) {
				t.Errorf("no other manager wrote, but the owners are\n%v\nwant\n%v", owned(end), owned(before))
			}
		}
	})
	t.Logf("%d rollbacks of %d histories, %d after others wrote, %d of taken fields, %d undisturbed, %d refused", back, cases, others, taken, whole, refused)
	if cases >= 300 && (back < cases/4 || others < cases/10 || taken < cases/20 || whole < cases/10 || refused > back/10) {
		t.Error("too few rollbacks of some kind, or too many refused: the test proves nothing")
	}
}

// restored rolls back with the journal, and returns the object and the report.
func (h *history) restored(t *testing.T, notes [][]restore.Note) (end *unstructured.Unstructured, reported event.RolledBack, err error) {
	t.Helper()
	engine := restore.Engine{
		Server: h.Server, Manager: us,
		Remove: func(context.Context, object.Kind, object.Ref, types.UID, func(*unstructured.Unstructured) string) error {
			return errors.New("it was there before")
		},
		Emit: func(e event.Event) {
			r, ok := e.(event.RolledBack)
			if reported = r; ok && r.Action != event.Restored {
				err = cmp.Or(r.Err, errors.New(r.Reason))
			}
		},
	}
	if ran := engine.Run(t.Context(), notes); (ran != nil) != (err != nil || len(reported.Unreturned) > 0) {
		t.Errorf("the rollback returned %v, but reported %v", ran, err)
	}
	end = h.get(t)
	h.say("end", end.Object)
	return end, reported, err
}

// other changes the object as another manager. The server may refuse it.
func (h *history) other(t *testing.T) {
	h.read(t, h.manifest.GroupVersionKind().Version)
	who := pick(h.random, "edit", "helm", "team-b")
	var err error
	if h.one(2) {
		next := &unstructured.Unstructured{Object: h.edit(h.Schema(), h.live.Object)}
		_, err = h.Update(t.Context(), object.Kind{}, next, object.Write{Manager: who})
		h.say("since, "+who+" updates", next.Object)
	} else {
		next := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(h.edit(h.Schema(), h.manifest.Object))}
		_, err = h.Apply(t.Context(), object.Kind{}, next, object.Write{Manager: who, Force: h.one(2)})
		h.say("since, "+who+" applies", next.Object)
	}
	if err != nil {
		h.steps = append(h.steps, "  refused: "+err.Error())
	}
}

// held is an object with its paths' owners, read without the tested code.
type held struct {
	object map[string]any
	owners map[string][]string
	paths  map[string]fieldpath.Path
	// versions returns the API versions of the owners' entries.
	versions map[string]string
}

func heldOf(t *testing.T, u *unstructured.Unstructured) held {
	t.Helper()
	out := held{object: u.Object, owners: map[string][]string{}, paths: map[string]fieldpath.Path{}, versions: map[string]string{}}
	for _, e := range u.GetManagedFields() {
		var set smd.Set
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			t.Fatal(err)
		}
		out.versions[ownerName(e)] = e.APIVersion
		set.Iterate(func(p smd.Path) {
			key := p.String()
			out.paths[key] = fieldpath.Path(p.Copy())
			out.owners[key] = append(out.owners[key], ownerName(e))
		})
	}
	for key := range out.owners {
		slices.Sort(out.owners[key])
	}
	return out
}

func ownerName(e metav1.ManagedFieldsEntry) string {
	return e.Manager + " " + string(e.Operation) + " " + e.Subresource
}

const ours = us + " Apply "

// judged is an object at four moments: before the run, after it, after other managers' writes, and
// after the rollback.
type judged struct {
	before, after, now, end held
	// left contains the paths that the rollback skipped, according to its report.
	left []fieldpath.Path
	// unreturned contains the paths that owners did not get back, according to the report.
	unreturned []event.Unreturned
}

func (w judged) judge(t *testing.T) {
	t.Helper()
	all := map[string]fieldpath.Path{}
	for _, h := range []held{w.before, w.after, w.now, w.end} {
		maps.Copy(all, h.paths)
	}
	// touched contains the paths that others have changed since the run.
	var touched []fieldpath.Path
	for key, p := range all {
		if !slices.Equal(w.after.owners[key], w.now.owners[key]) || !p.Same(w.after.object, w.now.object) {
			touched = append(touched, p)
		}
	}
	for key, p := range all {
		isTouched := slices.ContainsFunc(touched, func(q fieldpath.Path) bool { return q.HasPrefix(p) || p.HasPrefix(q) })
		isLeft := slices.ContainsFunc(w.left, func(q fieldpath.Path) bool { return q.HasPrefix(p) || p.HasPrefix(q) })
		if !isTouched && isLeft {
			continue
		}
		if !isTouched {
			a, was := p.Get(w.before.object)
			b, is := p.Get(w.end.object)
			if a, b := w.before.owners[key], w.end.owners[key]; (was || is) && !slices.Equal(w.withoutUnreturned(t, p, a, b), b) {
				t.Errorf("the owners of %s changed from %q to %q", key, a, b)
			}
			if !p.Same(w.before.object, w.end.object) && !hollow(a) && !fieldpath.IsContainer(a) {
				t.Errorf("the value of %s changed from %v to %v", key, a, b)
			}
			continue
		}
		for _, owner := range w.now.owners[key] {
			if owner == ours || owner == "before-first-apply Update " || slices.Contains(w.after.owners[key], owner) && p.Same(w.after.object, w.now.object) {
				continue
			}
			if !slices.Contains(w.end.owners[key], owner) {
				t.Errorf("%s has taken %s since, but no longer owns it", owner, key)
			}
			if v, _ := p.Get(w.now.object); !fieldpath.IsContainer(v) && !p.Same(w.now.object, w.end.object) {
				b, _ := p.Get(w.end.object)
				t.Errorf("%s set %s to %v since, but now it is %v", owner, key, v, b)
			}
		}
	}
}

// withoutUnreturned removes owners that, according to the report, did not get the path back. That
// is only allowed if the owner now has an entry in another version.
func (w judged) withoutUnreturned(t *testing.T, p fieldpath.Path, before, end []string) []string {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(before), func(owner string) bool {
		message := slices.ContainsFunc(w.unreturned, func(u event.Unreturned) bool {
			return owner == u.Manager+" Apply " && slices.ContainsFunc(u.Paths, p.Equal)
		})
		switch {
		case !message:
			return false
		case slices.Contains(end, owner):
			t.Errorf("%s owns %s, but is reported as not owning it", owner, p)
		case w.before.versions[owner] == w.now.versions[owner]:
			t.Errorf("%s was not returned to %s, which still writes version %s", p, owner, w.before.versions[owner])
		}
		return true
	})
}
