package give

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// fake contains objects in several versions. It does not implement server-side apply: test/e2e/give
// tests the effect on an API server.
type fake struct {
	mu    sync.Mutex
	live  map[string]*unstructured.Unstructured
	calls []string
	// between is called after each read, as another client would write.
	between func(f *fake, name string)
	// refuse is the error of writes.
	refuse error
	// credits attributes .data.set to each writer. after is called after each write.
	credits bool
	after   func(f *fake, name, manager string)
}

func (f *fake) note(format string, args ...any) {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fake) Get(ctx context.Context, _ object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("get %s", ref.Name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	u := f.live[ref.Name]
	if u == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, ref.Name)
	}
	u = u.DeepCopy()
	if f.between != nil {
		f.between(f, ref.Name)
	}
	return u, nil
}

func (f *fake) PutManagedFields(_ context.Context, _ object.Kind, live *unstructured.Unstructured, fields []any, how object.Write) (*unstructured.Unstructured, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("put %s as %s, dry run %t", live.GetName(), how.Manager, how.DryRun)
	now := f.live[live.GetName()]
	switch {
	case f.refuse != nil:
		return nil, f.refuse
	case now.GetResourceVersion() != live.GetResourceVersion():
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, live.GetName(), errors.New("it was changed"))
	}
	next := now.DeepCopy()
	if f.credits {
		fields = append(slices.Clone(fields), credit(how.Manager))
	}
	if err := unstructured.SetNestedSlice(next.Object, fields, "metadata", "managedFields"); err != nil {
		return nil, err
	}
	if !how.DryRun {
		next.SetResourceVersion(now.GetResourceVersion() + "1")
		f.live[live.GetName()] = next
	}
	if f.after != nil {
		f.after(f, live.GetName(), how.Manager)
	}
	return next, nil
}

// credit returns the entry of a manager to which the server attributes a field that the server
// sets.
func credit(manager string) map[string]any {
	return map[string]any{
		"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:data": map[string]any{"f:set": map[string]any{}}},
	}
}

func (f *fake) Apply(_ context.Context, _ object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("apply %s as %s, dry run %t", u.GetName(), how.Manager, how.DryRun)
	return u, nil
}

// configMap returns a ConfigMap in which edit owns .data.a and flux .data.b.
func configMap(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return fieldstest.Read(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: `+name+`
  resourceVersion: "1"
  managedFields:
  - {manager: edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {f:a: {}}}}
  - {manager: flux, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {f:b: {}}}}
data: {a: "1", b: "1"}
`)
}

type setup struct {
	server *fake
	engine Engine
	given  map[string]event.Given
}

func handing(t *testing.T, names ...string) *setup {
	t.Helper()
	s := &setup{server: &fake{live: map[string]*unstructured.Unstructured{}}, given: map[string]event.Given{}}
	for _, name := range names {
		s.server.live[name] = configMap(t, name)
	}
	s.engine = Engine{
		Server: s.server, Wish: transfer.Wish{From: []string{"edit"}, To: "flux"}, DryRun: object.DryRunNone,
		Emit: func(e event.Event) {
			if g, is := e.(event.Given); is {
				s.given[g.Ref.Name] = g
			}
		},
	}
	return s
}

func target(name string) Target {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	return Target{Kind: object.Kind{GVK: gvk}, Ref: object.Ref{GVK: gvk, Name: name}}
}

// owners returns the owners of fields as "edit .data.a", sorted.
func (f *fake) owners(t *testing.T, name string) []string {
	t.Helper()
	entries, err := managedfields.Entries(f.live[name])
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		fieldpath.Each(e.Fields, func(p fieldpath.Path) { out = append(out, e.Manager+" "+p.String()) })
	}
	slices.Sort(out)
	return out
}

// changed returns a function that makes another manager own one more field of an object, at another
// version.
func changed(t *testing.T) func(*fake, string) {
	return func(f *fake, name string) {
		u := f.live[name].DeepCopy()
		entry := map[string]any{
			"manager": "late", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:data": map[string]any{"f:c": map[string]any{}}},
		}
		fields, _, err := unstructured.NestedSlice(u.Object, "metadata", "managedFields")
		if err != nil {
			t.Error(err)
		}
		if !slices.Contains(f.calls, "late") {
			fields = append(fields, entry)
			f.note("late")
		}
		if err := unstructured.SetNestedSlice(u.Object, fields, "metadata", "managedFields"); err != nil {
			t.Error(err)
		}
		u.SetResourceVersion(u.GetResourceVersion() + "0")
		f.live[name] = u
	}
}

// If another client writes between the read and the write, the object is read again.
func TestConcurrentWriteIsReadAgain(t *testing.T) {
	s := handing(t, "web")
	once := changed(t)
	s.server.between = func(f *fake, name string) {
		f.between = nil
		once(f, name)
	}
	if err := s.engine.Run(t.Context(), []Target{target("web")}); err != nil {
		t.Fatal(err)
	}
	if got := s.given["web"]; got.Action != event.Handed || len(got.Moves) != 1 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"flux .data.a", "flux .data.b", "late .data.c"}, s.server.owners(t, "web")); diff != "" {
		t.Error(diff)
	}
}

// If an object keeps changing, the transfer gives up, and its result is unknown.
func TestGivesUpOnConstantChanges(t *testing.T) {
	s := handing(t, "web", "calm")
	late := changed(t)
	s.server.between = func(f *fake, name string) {
		if name == "web" {
			late(f, name)
		}
	}
	var err error
	synctest.Test(t, func(t *testing.T) { // skips the pauses between attempts
		err = s.engine.Run(t.Context(), []Target{target("web"), target("calm")})
	})
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || *incomplete != (IncompleteError{Unknown: 1}) {
		t.Errorf("%v", err)
	}
	got := s.given["web"]
	lost, is := errors.AsType[*retry.LostError](got.Err)
	if got.Action != event.Unknown || !is || got.Moves != nil {
		t.Fatalf("%+v", got)
	}
	if got := s.given["calm"]; got.Action != event.Handed {
		t.Errorf("%+v", got)
	}
	puts := 0
	for _, c := range s.server.calls {
		if strings.HasPrefix(c, "put web") {
			puts++
		}
	}
	if puts != lost.Attempts {
		t.Errorf("got %d writes, but the error reports %d attempts", puts, lost.Attempts)
	}
	if diff := cmp.Diff([]string{"edit .data.a", "flux .data.b", "late .data.c"}, s.server.owners(t, "web")); diff != "" {
		t.Error(diff)
	}
}

// A dry run reports the result of the run and changes nothing. A client-side dry run sends nothing.
func TestDryRuns(t *testing.T) {
	var moves []event.Move
	for _, tt := range []struct {
		dry   object.DryRun
		calls []string
		after []string
	}{
		{object.DryRunNone, []string{"get web", "put web as " + managedfields.Giver + ", dry run false"}, []string{"flux .data.a", "flux .data.b"}},
		{object.DryRunServer, []string{"get web", "put web as " + managedfields.Giver + ", dry run true"}, []string{"edit .data.a", "flux .data.b"}},
		{object.DryRunClient, []string{"get web"}, []string{"edit .data.a", "flux .data.b"}},
	} {
		s := handing(t, "web")
		s.engine.DryRun = tt.dry
		if err := s.engine.Run(t.Context(), []Target{target("web")}); err != nil {
			t.Fatal(err)
		}
		got := s.given["web"]
		if got.Action != event.Handed || got.DryRun != (tt.dry != object.DryRunNone) || len(got.Moves) == 0 {
			t.Errorf("%v: %+v", tt.dry, got)
		}
		if moves == nil {
			moves = got.Moves
		}
		if diff := cmp.Diff(fmt.Sprint(moves), fmt.Sprint(got.Moves)); diff != "" {
			t.Errorf("%v reports other moves than the real run: %s", tt.dry, diff)
		}
		if diff := cmp.Diff(tt.calls, s.server.calls); diff != "" {
			t.Errorf("%v: %s", tt.dry, diff)
		}
		if diff := cmp.Diff(tt.after, s.server.owners(t, "web")); diff != "" {
			t.Errorf("%v: %s", tt.dry, diff)
		}
	}
}

// With Lenient, objects in which the giver owns nothing are ignored; otherwise they are refused. In
// both cases, the result is unknown for an object that is absent or cannot be written.
func TestLenient(t *testing.T) {
	for _, lenient := range []bool{true, false} {
		s := handing(t, "web", "foreign")
		s.engine.Lenient = lenient
		u := s.server.live["foreign"]
		fields, _, _ := unstructured.NestedSlice(u.Object, "metadata", "managedFields")
		if err := unstructured.SetNestedField(fields[0].(map[string]any), "edit2", "manager"); err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedSlice(u.Object, fields, "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
		err := s.engine.Run(t.Context(), []Target{target("web"), target("foreign"), target("gone")})
		want, wantErr := event.Failed, IncompleteError{Refused: 1, Unknown: 1}
		if lenient {
			want, wantErr = event.Unchanged, IncompleteError{Unknown: 1}
		}
		var incomplete *IncompleteError
		if !errors.As(err, &incomplete) || *incomplete != wantErr {
			t.Errorf("lenient %t: %v", lenient, err)
		}
		got := map[string]event.Action{}
		for name, g := range s.given {
			got[name] = g.Action
		}
		if diff := cmp.Diff(map[string]event.Action{"web": event.Handed, "foreign": want, "gone": event.Unknown}, got); diff != "" {
			t.Errorf("lenient %t: %s", lenient, diff)
		}
		if g := s.given["foreign"]; lenient == (g.Reason == "") || lenient == (g.Err != nil) {
			t.Errorf("lenient %t: %+v", lenient, g)
		}
	}
	s := handing(t, "web")
	s.engine.Lenient = true
	s.server.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "web", errors.New("no"))
	if err := s.engine.Run(t.Context(), []Target{target("web")}); err == nil || s.given["web"].Action != event.Unknown {
		t.Errorf("%v, %+v", err, s.given["web"])
	}
}

// An interrupted run starts no more objects and returns the cause. Writes before the interrupt are
// reported.
func TestInterrupted(t *testing.T) {
	var names []string
	for i := range 4 * atOnce {
		names = append(names, fmt.Sprint("web-", i))
	}
	s := handing(t, names...)
	var targets []Target
	for _, name := range names {
		targets = append(targets, target(name))
	}
	why := errors.New("Ctrl-C")
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	s.server.after = func(*fake, string, string) { stop(why) }
	if err := s.engine.Run(ctx, targets); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if len(s.given) == 0 || len(s.given) > atOnce {
		t.Errorf("got results for %d objects, want at least one and at most atOnce", len(s.given))
	}
	for _, name := range names {
		written := slices.Contains(s.server.owners(t, name), "flux .data.a")
		if reported := s.given[name].Action == event.Handed; written != reported {
			t.Errorf("%s: written %t, but the result is %+v", name, written, s.given[name])
		}
	}
}
