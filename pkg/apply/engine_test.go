package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// fake is a server whose answers each test sets. It does not merge: test/e2e tests the effect of
// server-side apply.
type fake struct {
	mu    sync.Mutex
	calls []string
	live  map[string]*unstructured.Unstructured
	// apply answers writes and dry runs. If it is nil, the answer is the sent object.
	apply func(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
	kinds map[string]bool
	// refusal is the error of Established.
	refusal error
}

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

// found returns an object, which may appear during the run.
func (f *fake) found(name string) *unstructured.Unstructured {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live[name]
}

// appear creates an object, as another client would.
func (f *fake) appear(name string, u *unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[name] = u
}

func (f *fake) Kind(_ context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	if f.kinds[gvk.Kind] {
		return object.Kind{GVK: gvk, Resource: strings.ToLower(gvk.Kind) + "s"}, nil
	}
	return object.Kind{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}

func (f *fake) Served(_ context.Context, gvk schema.GroupVersionKind, within time.Duration) (object.Kind, error) {
	f.note("served %s", strings.TrimSpace(gvk.Kind+" "+strings.TrimSuffix(within.String(), "0s")))
	return object.Kind{GVK: gvk, Resource: strings.ToLower(gvk.Kind) + "s"}, nil
}

func (f *fake) Established(_ context.Context, definition string) error {
	f.note("established %s", definition)
	return f.refusal
}

func (f *fake) Unserved(_ context.Context, gvk schema.GroupVersionKind) error {
	return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}

func (f *fake) ExplainRefusal(_ context.Context, _ object.Kind, err error) error { return err }

func (f *fake) Live(_ context.Context, _ object.Kind, refs []object.Ref, visit func(int, *unstructured.Unstructured, error)) {
	for i, ref := range refs {
		visit(i, f.found(ref.Name), nil)
	}
}

func (f *fake) Get(_ context.Context, _ object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	f.note("get %s", ref.Name)
	if u := f.found(ref.Name); u != nil {
		return u, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, ref.Name)
}

func (f *fake) Apply(_ context.Context, _ object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	verb := "apply"
	if how.DryRun {
		verb = "try"
	}
	f.note("%s %s", verb, u.GetName())
	if live := f.found(u.GetName()); live != nil && !how.Force {
		if a, _, _ := unstructured.NestedString(live.Object, "data", "a"); a == "theirs" {
			return nil, conflictErr()
		}
	}
	if f.apply != nil {
		return f.apply(u, how)
	}
	return u, nil
}

func (f *fake) Update(_ context.Context, _ object.Kind, u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
	f.note("update %s", u.GetName())
	return u, nil
}

func (f *fake) Permitted(context.Context, object.Kind, object.Ref, string) (bool, error) {
	return true, nil
}

func (f *fake) SetManagedFields(_ context.Context, _ object.Kind, live *unstructured.Unstructured, _ []any) (*unstructured.Unstructured, error) {
	f.note("adopt %s", live.GetName())
	return live, nil
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var u unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return &u
}

// item returns a config map of a plan.
func item(t *testing.T, name string, needs ...object.Key) plan.Item {
	t.Helper()
	u := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: n, name: "+name+"}, data: {a: ours}}")
	return plan.Item{
		Ref: object.RefOf(u), Object: u, Needs: needs,
		Kind: object.Kind{GVK: u.GroupVersionKind(), Resource: "configmaps", Namespaced: true},
	}
}

// held returns a live config map in which another manager owns .data.a.
func held(t *testing.T, name, holder string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  namespace: n
  name: `+name+`
  resourceVersion: "7"
  managedFields:
  - {manager: `+holder+`, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {".": {}, "f:a": {}}}}
data: {a: theirs}
`)
}

// taken returns the answer to a forced apply of the config map that held returns.
func taken(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  namespace: n
  name: `+name+`
  resourceVersion: "7"
  managedFields:
  - {manager: k8sconnect, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}
  - {manager: other, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {".": {}}}}
data: {a: ours}
`)
}

// writes returns the requests that changed something, sorted.
func (f *fake) writes() []string {
	var out []string
	for _, call := range f.calls {
		if strings.HasPrefix(call, "apply ") {
			out = append(out, call)
		}
	}
	slices.Sort(out)
	return out
}

type run struct {
	engine Engine
	server *fake
	events []event.Event
}

func newRun(server *fake) *run {
	r := &run{server: server}
	r.engine = Engine{
		Server:    server,
		Predictor: predict.Predictor{Manager: "k8sconnect"},
		Emit:      func(e event.Event) { r.events = append(r.events, e) },
	}
	return r
}

// results returns each object with its result, sorted by name.
func (r *run) results() []string {
	var out []string
	for _, e := range r.events {
		if a, ok := e.(event.Applied); ok {
			out = append(out, a.Ref.Name+" "+string(a.Action))
		}
	}
	slices.Sort(out)
	return out
}

func phases(items ...[]plan.Item) *plan.Plan {
	p := &plan.Plan{}
	for i, group := range items {
		p.Phases = append(p.Phases, plan.Phase{Name: fmt.Sprint(i), Items: group})
	}
	return p
}

func conflictErr() error {
	err := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("contested"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".data.a"}}
	return err
}

func TestConflictStopsItsPhaseAndLaterPhases(t *testing.T) {
	server := &fake{live: map[string]*unstructured.Unstructured{"b": held(t, "b", "other")}}
	server.apply = func(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
		if u.GetName() == "b" {
			return taken(t, "b"), nil
		}
		return u, nil
	}
	r := newRun(server)
	err := r.engine.Run(t.Context(), phases([]plan.Item{item(t, "early")}, []plan.Item{item(t, "a"), item(t, "b")}, []plan.Item{item(t, "late")}))

	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || incomplete.Conflicts != 1 {
		t.Errorf("Run() = %v, want one conflict", err)
	}
	if diff := cmp.Diff([]string{"a skipped", "b conflict", "early created", "late skipped"}, r.results()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"apply early", "try b", "try b"}, server.calls); diff != "" {
		t.Errorf("requests: %s", diff)
	}
}

func TestConflictThatAppearsAfterTheCheck(t *testing.T) {
	server := &fake{live: map[string]*unstructured.Unstructured{}}
	server.apply = func(_ *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
		server.live["a"] = held(t, "a", "rival")
		if how.Force {
			return taken(t, "a"), nil
		}
		return nil, conflictErr()
	}
	r := newRun(server)
	if err := r.engine.Run(t.Context(), phases([]plan.Item{item(t, "a")})); err == nil {
		t.Error("Run() = nil, want an error")
	}
	for _, e := range r.events {
		if a, ok := e.(event.Applied); ok {
			if a.Action != event.InConflict || len(a.Conflicts) != 1 || a.Conflicts[0].Owners[0].Manager != "rival" {
				t.Errorf("got %+v, want the conflict with rival", a)
			}
		}
	}
}

// A forced apply names the version that was read, so that it takes fields only from the owners that
// the user saw.
func TestTakeIsBoundToReadVersion(t *testing.T) {
	server := &fake{live: map[string]*unstructured.Unstructured{"a": held(t, "a", "other")}}
	writes := 0
	server.apply = func(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
		if how.DryRun {
			return taken(t, "a"), nil
		}
		if !how.Force || u.GetResourceVersion() != "7" {
			t.Errorf("write with force %v at version %q", how.Force, u.GetResourceVersion())
		}
		if writes++; writes == 1 {
			return nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("object was modified"))
		}
		return taken(t, "a"), nil
	}
	r := newRun(server)
	r.engine.Predictor.Take = []predict.Choice{{}}
	if err := r.engine.Run(t.Context(), phases([]plan.Item{item(t, "a")})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"try a", "try a", "apply a", "get a", "try a", "try a", "apply a"}, server.calls); diff != "" {
		t.Errorf("requests: %s", diff)
	}
}

func TestDependentsOfFailedObjectAreSkipped(t *testing.T) {
	first := item(t, "first")
	server := &fake{apply: func(u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
		if u.GetName() == "first" {
			return nil, apierrors.NewBadRequest("no")
		}
		return u, nil
	}}
	r := newRun(server)
	err := r.engine.Run(t.Context(), phases([]plan.Item{first}, []plan.Item{item(t, "second", first.Key()), item(t, "third")}))
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || incomplete.Rejected != 1 {
		t.Errorf("Run() = %v, want one refused", err)
	}
	if diff := cmp.Diff([]string{"first failed", "second skipped", "third created"}, r.results()); diff != "" {
		t.Error(diff)
	}
}

// Edge case 18: a run waits for a kind whose CRD it applies. If a former CRD served the kind, the
// run waits until the new CRD is established, because discovery may still list the old one.
func TestRunWaitsForKindOfAppliedCRD(t *testing.T) {
	for resource, want := range map[string][]string{
		"":       {"apply custom", "apply definition", "established definition", "served ConfigMap"}, // in any order
		"things": {"apply definition", "established definition", "served ConfigMap", "apply custom"},
	} {
		definition := item(t, "definition")
		definition.GVK.Kind = "CustomResourceDefinition"
		custom := item(t, "custom", definition.Key())
		custom.Kind.Resource = resource
		custom.Bringers = custom.Needs
		server := &fake{}
		r := newRun(server)
		if err := r.engine.Run(t.Context(), phases([]plan.Item{definition}, []plan.Item{custom})); err != nil {
			t.Fatal(err)
		}
		if resource == "" {
			slices.Sort(server.calls)
		}
		if diff := cmp.Diff(want, server.calls); diff != "" {
			t.Errorf("%q: requests: %s", resource, diff)
		}
	}
}

func TestUnknownKindFailsAtOnce(t *testing.T) {
	custom := item(t, "custom")
	custom.Kind.Resource = ""
	server := &fake{}
	r := newRun(server)
	if err := r.engine.Run(t.Context(), phases([]plan.Item{item(t, "a")}, []plan.Item{custom})); err == nil {
		t.Error("Run() = nil, want an error")
	}
	if diff := cmp.Diff([]string{"apply a"}, server.calls); diff != "" {
		t.Errorf("requests: %s", diff)
	}
}

func TestInterruptedRunReportsSkippedObjects(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	server := &fake{apply: func(u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
		cancel(why)
		return u, nil
	}}
	r := newRun(server)
	err := r.engine.Run(ctx, phases([]plan.Item{item(t, "a")}, []plan.Item{item(t, "b")}))
	if !errors.Is(err, why) {
		t.Errorf("Run() = %v, want %v", err, why)
	}
	if diff := cmp.Diff([]string{"a created", "b skipped"}, r.results()); diff != "" {
		t.Error(diff)
	}
}

// arrivedError is the error of a write that the server may have accepted.
type arrivedError struct{ error }

func (e arrivedError) Unwrap() error { return e.error }

func (e arrivedError) MayBeWritten() bool { return true }

// An interrupted write is not reported as skipped.
func TestInterruptedRunReportsWritesThatMayHaveSucceeded(t *testing.T) {
	for name, wrap := range map[string]func(error) error{
		"under way": func(err error) error { return arrivedError{err} },
		"not sent":  func(err error) error { return err },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			server := &fake{apply: func(*unstructured.Unstructured, object.Write) (*unstructured.Unstructured, error) {
				cancel(why)
				return nil, wrap(why)
			}}
			r := newRun(server)
			var reported error
			emit := r.engine.Emit
			r.engine.Emit = func(e event.Event) {
				if a, ok := e.(event.Applied); ok {
					reported = a.Err
				}
				emit(e)
			}
			if err := r.engine.Run(ctx, phases([]plan.Item{item(t, "a")})); !errors.Is(err, why) {
				t.Errorf("Run() = %v", err)
			}
			if reported == nil || strings.Contains(reported.Error(), "may have succeeded") != (name == "under way") {
				t.Errorf("told %v", reported)
			}
		})
	}
}

func TestDryRunsWriteNothing(t *testing.T) {
	tests := map[string]struct {
		dryRun object.DryRun
		calls  []string
	}{
		"server": {object.DryRunServer, []string{"try a"}},
		"client": {object.DryRunClient, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := &fake{}
			r := newRun(server)
			r.engine.DryRun = tt.dryRun
			// A dry run does not create a. The server cannot check b, which needs a, and is not
			// asked.
			a := item(t, "a")
			if err := r.engine.Run(t.Context(), phases([]plan.Item{a}, []plan.Item{item(t, "b", a.Key())})); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a created", "b created"}, r.results()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.calls, server.calls); diff != "" {
				t.Errorf("requests: %s", diff)
			}
		})
	}
}

// Edge case 18: if a cache still has a kind from a deleted CRD, the run waits for it like for a new
// kind.
func TestRunWaitsForKindOfReplacedCRD(t *testing.T) {
	definition := item(t, "definition")
	definition.GVK.Kind = "CustomResourceDefinition"
	server := &fake{}
	r := newRun(server)
	if err := r.engine.Run(t.Context(), phases([]plan.Item{definition}, []plan.Item{item(t, "custom", definition.Key())})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"apply definition", "established definition", "served ConfigMap", "apply custom"}, server.calls); diff != "" {
		t.Errorf("requests: %s", diff)
	}
}
