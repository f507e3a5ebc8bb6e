package property_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// A run that adopts and is killed between any two requests has overwritten nothing without a
// report: the next run reports the same as an uninterrupted run, with the owners of lost values and
// both values, and has the same result. A run that does not name the managers again takes nothing
// from them without a report (edge cases 30, 36).
func TestAdoptionKilled(t *testing.T) {
	var kills, reported, refused int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		names := []string{pick(h.random, "edit", "helm", "team-b")}
		if h.one(2) {
			names = []string{"edit", "helm", "team-b"}
		}
		from, without := adopt.From{Always: names}, adopt.From{}
		if h.one(2) {
			// A migration continues on its own: the repeated run names no manager.
			from = adopt.From{Once: names}
			without = from
		}
		p := predict.Predictor{Manager: us, AdoptFrom: from}
		if !h.one(3) {
			p.Take = []predict.Choice{{}}
		}
		clean := &dying{Server: h.Copy(), after: -1}
		want, err := adopting(t, clean, h, p)
		if err != nil || len(want.Adopted) == 0 {
			refused++
			return
		}
		if len(want.Taken)+len(want.Removed) > 0 {
			reported++
		}
		h.tellsAll(t, at(t, h.Server, h), at(t, clean.Server, h), names, want)
		for n := range clean.requests {
			s := h.Copy()
			if did, err := adopting(t, &dying{Server: s, after: n}, h, p); err == nil {
				t.Fatalf("killed after %d of %d requests, but the run ended with %s", n, clean.requests, did.Action)
			}
			kills++
			killed := fmt.Sprintf("killed after %d of %d requests", n, clean.requests)
			h.silent(t, killed, s.Copy(), predict.Predictor{Manager: us, AdoptFrom: without, Take: p.Take}, want)
			got, err := adopting(t, &dying{Server: s, after: -1}, h, p)
			if err != nil {
				t.Errorf("%s, the next run fails: %v %v", killed, err, got.Err)
				continue
			}
			if a, b := reportOf(want), reportOf(got); a != b {
				t.Errorf("%s, the next run reports\n%s\nwant\n%s", killed, b, a)
			}
			if !sameContent(at(t, clean.Server, h), at(t, s, h)) || !sameOwners(at(t, clean.Server, h), at(t, s, h)) {
				t.Errorf("%s, the object is\n%v\nwant\n%v", killed, at(t, s, h).Object, at(t, clean.Server, h).Object)
			}
		}
	})
	t.Logf("%d kills, %d adoptions that change values, %d histories without an adoption", kills, reported, refused)
	if cases >= 300 && (kills < cases/2 || reported < cases/10) {
		t.Error("too few kills or adoptions: the test proves nothing")
	}
}

// tellsAll compares a run's report with the object before and after: every value of an adopted
// manager that is changed or removed is reported.
func (h *history) tellsAll(t *testing.T, before, after *unstructured.Unstructured, names []string, got event.Applied) {
	t.Helper()
	entries, err := managedfields.Entries(before)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(names, e.Manager) || e.APIVersion != before.GetAPIVersion() {
			continue
		}
		fieldpath.Each(e.Fields, func(p fieldpath.Path) {
			v, _ := p.Get(before.Object)
			if fieldpath.IsContainer(v) || v == nil || p.Same(before.Object, after.Object) {
				return // its contents have their own paths, or it has none
			}
			reported := func(c managedfields.Change) bool { return p.HasPrefix(c.Path) || c.Path.HasPrefix(p) }
			if !slices.ContainsFunc(slices.Concat(got.Taken, got.Removed), reported) {
				is, _ := p.Get(after.Object)
				t.Errorf("%s of %s changed from %v to %v without a report; the run reports\n%s", p, e.Owner, v, is, reportOf(got))
			}
		})
	}
}

// silent checks that a run reports every change to a value of an adopted manager, with the
// manager's name.
func (h *history) silent(t *testing.T, when string, s *Server, p predict.Predictor, clean event.Applied) {
	t.Helper()
	before := at(t, s, h)
	entries, err := managedfields.Entries(at(t, h.Server, h))
	if err != nil {
		t.Fatal(err)
	}
	ours := managedfields.Managed(entries, us)
	got, _ := adopting(t, &dying{Server: s, after: -1}, h, p)
	after := at(t, s, h)
	reported := func(c managedfields.Change) bool {
		return slices.ContainsFunc(slices.Concat(got.Taken, got.Removed), func(message managedfields.Change) bool {
			if !message.Path.HasPrefix(c.Path) && !c.Path.HasPrefix(message.Path) {
				return false
			}
			return len(got.Adopted) > 0 || len(message.Owners) > 0
		})
	}
	for _, c := range slices.Concat(clean.Taken, clean.Removed) {
		switch {
		case sameAt(c.Path, before, after) || hollow(c.From):
		case len(c.Path) == 1: // An empty spec has nothing left but defaults.
		case fieldpath.Touches(ours, c.Path): // It was ours to begin with.
		case !reported(c):
			t.Errorf("%s, a run that adopts from %v changes %s without a report; it reports\n%s", when, p.AdoptFrom, c.Path, reportOf(got))
		}
	}
}

// hollow reports whether a value has no content.
func hollow(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, below := range v {
			if !hollow(below) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(below any) bool { return !hollow(below) })
	default:
		return v == nil
	}
}

// at reads the object in the manifest's version.
func at(t *testing.T, s *Server, h *history) *unstructured.Unstructured {
	t.Helper()
	u, err := s.Get(t.Context(), object.Kind{}, object.RefOf(h.manifest))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// reportOf returns a run's report on former owners and their fields.
func reportOf(a event.Applied) string {
	lines := []string{fmt.Sprint(a.Action, " adopted ", a.Adopted, " only owners ", a.OnlyOwners)}
	for _, c := range slices.Concat(a.Taken, a.Removed, a.Released) {
		lines = append(lines, line(c))
	}
	return strings.Join(lines, "\n")
}

func line(c managedfields.Change) string {
	var owners []string
	for _, o := range c.Owners {
		owners = append(owners, o.String()+" "+o.APIVersion)
	}
	return fmt.Sprintf("%s %s %v -> %v %v", c.Kind, c.Path, c.From, c.To, owners)
}

// adopting applies the history's manifest with adoption.
func adopting(t *testing.T, s *dying, h *history, p predict.Predictor) (event.Applied, error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s.kill = cancel
	var got event.Applied
	engine := apply.Engine{Server: s, Predictor: p, Emit: func(e event.Event) {
		if a, ok := e.(event.Applied); ok {
			got = a
		}
	}}
	return got, engine.Run(ctx, planOf(t, s.Server, h.manifest))
}

// dying is a server whose client is killed after that many requests; never, if negative.
type dying struct {
	*Server
	after, requests int
	kill            context.CancelCauseFunc
}

var errKilled = errors.New("killed")

// next counts a request. It fails once the client is dead.
func (d *dying) next() error {
	if d.after >= 0 && d.requests >= d.after {
		d.kill(errKilled)
		return errKilled
	}
	d.requests++
	return nil
}

func (d *dying) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	if err := d.next(); err != nil {
		visit(0, nil, err)
		return
	}
	d.Server.Live(ctx, kind, refs, visit)
}

func (d *dying) Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	if err := d.next(); err != nil {
		return nil, err
	}
	return d.Server.Get(ctx, kind, ref)
}

func (d *dying) Apply(ctx context.Context, kind object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	if err := d.next(); err != nil {
		return nil, err
	}
	return d.Server.Apply(ctx, kind, u, how)
}

func (d *dying) Update(ctx context.Context, kind object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	if err := d.next(); err != nil {
		return nil, err
	}
	return d.Server.Update(ctx, kind, u, how)
}

func (d *dying) SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error) {
	if err := d.next(); err != nil {
		return nil, err
	}
	return d.Server.SetManagedFields(ctx, kind, live, fields)
}
