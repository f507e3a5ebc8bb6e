package deletion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// fake is a server that stores objects by name, in virtual time. How real API servers delete is
// shown by the tests in test/e2e.
type fake struct {
	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured
	version int
	calls   []string
	reports []*teller
	// unreadable is the error of every watch; nil if watches work.
	unreadable error
	// refuse returns the error with which a request is refused; nil lets the request through.
	refuse func(verb, name string) error
	// returnsObject makes Delete return the object that it has deleted, as for Services, and its watch
	// silent about that.
	returnsObject bool
	// latency is the delay between the events of a removed finalizer and the answer to the request
	// that removed it.
	latency time.Duration
	// explains implements ExplainRefusal; may be nil.
	explains func(error) error
}

type teller struct {
	sel    object.Selection
	report func(object.Change)
	end    chan error
}

func newFake(objects ...*unstructured.Unstructured) *fake {
	f := &fake{objects: map[string]*unstructured.Unstructured{}}
	for _, u := range objects {
		f.put(u)
	}
	return f
}

var (
	configMaps = object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps", Namespaced: true}
	namespaces = object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Resource: "namespaces"}
)

// config returns a ConfigMap in prod with finalizers.
func config(name string, finalizers ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(configMaps.GVK)
	u.SetNamespace("prod")
	u.SetName(name)
	u.SetUID(types.UID("uid-" + name))
	u.SetFinalizers(finalizers)
	return u
}

// terminating returns the object after its deletion was requested.
func terminating(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	now := metav1.Now()
	u.SetDeletionTimestamp(&now)
	return u
}

// put stores a version of an object and reports it to watches.
func (f *fake) put(u *unstructured.Unstructured) {
	f.mu.Lock()
	f.version++
	u = u.DeepCopy()
	u.SetResourceVersion(fmt.Sprint(f.version))
	before := f.objects[u.GetName()]
	f.objects[u.GetName()] = u
	f.mu.Unlock()
	if before != nil && before.GetUID() != u.GetUID() {
		f.each(before, object.Gone{Object: before})
	}
	f.each(u, object.Present{Object: u})
}

// remove removes an object and reports that to watches.
func (f *fake) remove(name string) {
	f.mu.Lock()
	u := f.objects[name]
	delete(f.objects, name)
	f.mu.Unlock()
	f.each(u, object.Gone{Object: u})
}

func (f *fake) each(u *unstructured.Unstructured, change object.Change) {
	f.mu.Lock()
	reports := slices.Clone(f.reports)
	f.mu.Unlock()
	for _, one := range reports {
		if one.sel.Name == "" || one.sel.Name == u.GetName() {
			one.report(change)
		}
	}
}

// blind makes all watches report the error; with nil, they work again.
func (f *fake) blind(err error) {
	f.mu.Lock()
	f.unreadable = err
	reports := slices.Clone(f.reports)
	f.mu.Unlock()
	for _, one := range reports {
		if err != nil {
			one.report(object.Unreadable{Err: err})
		} else {
			one.report(object.Synced{})
		}
	}
}

// interrupt ends all watches.
func (f *fake) interrupt(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.reports {
		one.end <- err
	}
	f.reports = nil
}

// called reports whether the fake has received the call.
func (f *fake) called(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.calls, call)
}

func (f *fake) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := fmt.Sprintf(format, args...)
	f.calls = append(f.calls, call)
	if f.refuse == nil {
		return nil
	}
	verb, name, _ := strings.Cut(call, " ")
	return f.refuse(verb, name)
}

func (f *fake) Watch(ctx context.Context, kind object.Kind, sel object.Selection, report func(object.Change)) error {
	if err := f.note("watch %s/%s", sel.Namespace, sel.Name); err != nil {
		return err
	}
	f.mu.Lock()
	unreadable := f.unreadable
	var found []*unstructured.Unstructured
	for _, u := range f.objects {
		if u.GetKind() == kind.GVK.Kind && (sel.Name == "" || sel.Name == u.GetName()) {
			found = append(found, u)
		}
	}
	own := &teller{sel, report, make(chan error, 1)}
	f.reports = append(f.reports, own)
	f.mu.Unlock()
	if unreadable != nil {
		report(object.Unreadable{Err: unreadable})
	} else {
		for _, u := range found {
			report(object.Present{Object: u})
		}
		report(object.Synced{})
	}
	select {
	case err := <-own.end:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *fake) Delete(_ context.Context, _ object.Kind, ref object.Ref, how object.Deletion) (*unstructured.Unstructured, error) {
	if err := f.note("delete %s", ref.Name); err != nil {
		return nil, err
	}
	u, err := f.get(ref)
	switch {
	case err != nil:
		return nil, err
	case how.UID != u.GetUID():
		return nil, apierrors.NewConflict(schema.GroupResource{}, ref.Name, fmt.Errorf("uid"))
	case how.DryRun:
		return u, nil
	case len(u.GetFinalizers()) > 0:
		f.put(terminating(u))
		return f.get(ref)
	}
	if f.returnsObject {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.objects, ref.Name)
		return u, nil
	}
	f.remove(ref.Name)
	return nil, nil
}

func (f *fake) get(ref object.Ref) (*unstructured.Unstructured, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if u := f.objects[ref.Name]; u != nil {
		return u, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, ref.Name)
}

func (f *fake) Get(_ context.Context, _ object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	if err := f.note("get %s", ref.Name); err != nil {
		return nil, err
	}
	return f.get(ref)
}

func (f *fake) Permitted(_ context.Context, _ object.Kind, ref object.Ref, verb string) (bool, error) {
	return f.note("may-%s %s", verb, ref.Name) == nil, nil
}

func (f *fake) RemoveFinalizer(_ context.Context, _ object.Kind, live *unstructured.Unstructured, finalizer string) (*unstructured.Unstructured, error) {
	if err := f.note("release %s %s", live.GetName(), finalizer); err != nil {
		return nil, err
	}
	u, err := f.get(object.RefOf(live))
	switch {
	case err != nil:
		return nil, err
	case u.GetResourceVersion() != live.GetResourceVersion():
		return nil, apierrors.NewConflict(schema.GroupResource{}, u.GetName(), fmt.Errorf("version"))
	}
	u = u.DeepCopy()
	u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == finalizer }))
	if len(u.GetFinalizers()) == 0 {
		f.remove(u.GetName())
	} else {
		f.put(u)
	}
	time.Sleep(f.latency)
	return u, nil
}

// explainer is an Explainer that returns the cause currently set for each object.
type explainer struct {
	mu    sync.Mutex
	cause event.Cause
	asked int
}

func (x *explainer) Explain(context.Context, object.Kind, *unstructured.Unstructured) ([]event.Cause, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked++
	return []event.Cause{x.cause}, nil
}

func (x *explainer) set(code string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cause.Code = code
}

// times returns the number of explanations.
func (x *explainer) times() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.asked
}

// counter is a Counter that returns the number in left.
type counter struct {
	mu   sync.Mutex
	left int
}

func (c *counter) Count(context.Context, *unstructured.Unstructured) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left, nil
}

func (c *counter) set(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = n
}

// run is one run of an engine, with the events that it emitted.
type run struct {
	*Engine
	*fake
	events []event.Event
	err    error
}

// start runs the engine in the background; virtual time passes while the test waits.
func start(ctx context.Context, e *Engine, f *fake, phases ...Phase) *run {
	r := &run{Engine: e, fake: f}
	e.Server = f
	e.Emit = func(ev event.Event) { r.events = append(r.events, ev) }
	return r.with(ctx, phases)
}

func (r *run) with(ctx context.Context, phases []Phase) *run {
	r.err = r.Run(ctx, phases)
	return r
}

// results returns NAME ACTION for each object, sorted.
func (r *run) results() []string {
	var out []string
	for _, e := range r.events {
		if d, ok := e.(event.Deleted); ok {
			out = append(out, d.Ref.Name+" "+string(d.Action))
		}
	}
	slices.Sort(out)
	return out
}

// result returns the only result for an object.
func (r *run) result(t *testing.T, name string) event.Deleted {
	t.Helper()
	var found []event.Deleted
	for _, e := range r.events {
		if d, ok := e.(event.Deleted); ok && d.Ref.Name == name {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d results for %s: %v", len(found), name, found)
	}
	return found[0]
}

// message returns the codes of all reported explanations.
func (r *run) message() []string {
	var codes []string
	for _, e := range r.events {
		if s, ok := e.(event.Stuck); ok {
			codes = append(codes, s.Causes[0].Code)
		}
	}
	return codes
}

// warnings returns the warnings that concern no particular object.
func (r *run) warnings() []string {
	var texts []string
	for _, e := range r.events {
		if w, ok := e.(event.Warned); ok && w.Ref == (object.Ref{}) {
			texts = append(texts, w.Text)
		}
	}
	return texts
}

func named(kind object.Kind, names ...string) Phase {
	s := Set{Kind: kind}
	if kind.Namespaced {
		s.Selection.Namespace = "prod"
	}
	for _, name := range names {
		s.Items = append(s.Items, Item{Ref: object.Ref{GVK: kind.GVK, Namespace: s.Selection.Namespace, Name: name}})
	}
	return Phase{Name: strings.Join(names, ","), Sets: []Set{s}}
}

func after(d time.Duration, do func()) { time.AfterFunc(d, do) }

func (f *fake) ExplainRefusal(_ context.Context, _ object.Kind, err error) error {
	if f.explains != nil {
		return f.explains(err)
	}
	return err
}
