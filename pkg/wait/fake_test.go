package wait

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

var jobs = object.Kind{GVK: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, Resource: "jobs", Namespaced: true}

// world is a cluster in virtual time, with its objects and its watches.
type world struct {
	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured
	watches []*listener
	version int
	// lists counts the watches that were started, each of which begins with a list.
	lists int
	// served is the kind as the server describes it; nil while the kind is not served.
	served *object.Kind
	// refuse returns the error with which a watch is refused; it may be nil.
	refuse func(object.Selection) error
	// mute is set while discovery fails.
	mute bool
	// blind is set while every watch only reports that reads fail.
	blind bool
	// schema is the kind's schema once it is published; asked counts the requests for it.
	schema *spec.Schema
	asked  int
	// slow is how long a list takes.
	slow time.Duration
}

type listener struct {
	sel    object.Selection
	report chan object.Change
	closed bool
}

func newWorld(objects ...*unstructured.Unstructured) *world {
	w := &world{objects: map[string]*unstructured.Unstructured{}, served: &jobs}
	for _, u := range objects {
		w.put(u)
	}
	return w
}

func (w *world) Resource(ctx context.Context, text string) (object.Kind, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mute {
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
		return object.Kind{}, context.Cause(ctx)
	}
	if w.served == nil {
		return object.Kind{}, &meta.NoResourceMatchError{PartialResource: schema.GroupVersionResource{Resource: text}}
	}
	return *w.served, nil
}

func (w *world) Schema(context.Context, object.Kind) (*spec.Schema, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	return w.schema, nil
}

func (w *world) publish(s *spec.Schema) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schema = s
}

func (w *world) Watch(ctx context.Context, _ object.Kind, sel object.Selection, report func(object.Change)) error {
	w.mu.Lock()
	w.lists++
	if w.refuse != nil {
		if err := w.refuse(sel); err != nil {
			w.mu.Unlock()
			return err
		}
	}
	l := &listener{sel: sel, report: make(chan object.Change, 1000)}
	w.watches = append(w.watches, l)
	blind, slow := w.blind, w.slow
	w.mu.Unlock()
	if blind {
		report(object.Unreadable{Err: fmt.Errorf("connection refused")})
		<-ctx.Done()
		return context.Cause(ctx)
	}
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w.mu.Lock()
	var there []object.Change
	for _, u := range w.objects {
		if selects(sel, u) {
			there = append(there, object.Present{Object: u.DeepCopy()})
		}
	}
	w.mu.Unlock()
	for _, c := range append(there, object.Synced{}) {
		report(c)
	}
	for {
		select {
		case c, open := <-l.report:
			if !open {
				return &meta.NoKindMatchError{GroupKind: jobs.GVK.GroupKind()}
			}
			report(c)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func selects(sel object.Selection, u *unstructured.Unstructured) bool {
	return (sel.Name == "" || sel.Name == u.GetName()) && (sel.Namespace == "" || sel.Namespace == u.GetNamespace())
}

func (w *world) say(u *unstructured.Unstructured, c object.Change) {
	for _, l := range w.watches {
		if selects(l.sel, u) && !l.closed {
			l.report <- c
		}
	}
}

func (w *world) put(u *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	u.SetResourceVersion(fmt.Sprint(w.version))
	w.objects[u.GetName()] = u
	w.say(u, object.Present{Object: u.DeepCopy()})
}

func (w *world) remove(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.objects[name]
	delete(w.objects, name)
	w.say(u, object.Gone{Object: u.DeepCopy()})
}

// unserve removes the kind with all objects and watches.
func (w *world) unserve() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served, w.objects = nil, map[string]*unstructured.Unstructured{}
	for _, l := range w.watches {
		close(l.report)
		l.closed = true
	}
}

func (w *world) serve() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served = &jobs
}

// job returns a Job in which the given conditions are True.
func job(name, uid string, conditions ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(jobs.GVK)
	u.SetNamespace("prod")
	u.SetName(name)
	u.SetUID(types.UID(uid))
	var list []any
	for _, c := range conditions {
		list = append(list, map[string]any{"type": c, "status": "True"})
	}
	u.Object["status"] = map[string]any{"conditions": list}
	return u
}

// goal returns a goal with the given conditions. Those with the prefix "!" are conditions to fail
// on.
func goal(t *testing.T, texts ...string) *Goal {
	t.Helper()
	g := &Goal{}
	for _, text := range texts {
		if text == "any" {
			g.Any = true
			continue
		}
		failOn, forbidden := strings.CutPrefix(text, "!")
		s, err := condition.Parse(failOn)
		if err != nil {
			t.Fatal(err)
		}
		if forbidden {
			g.FailOn = append(g.FailOn, s)
		} else {
			g.For = append(g.For, s)
		}
	}
	return g
}

func named(g *Goal, names ...string) []Target {
	var all []Target
	for _, name := range names {
		all = append(all, Target{
			Selection: object.Selection{Namespace: "prod", Name: name}, Kind: jobs, Type: "jobs.batch", Goal: g,
		})
	}
	return all
}

func matching(g *Goal) []Target {
	return []Target{{Selection: object.Selection{Namespace: "prod", Labels: "a=b"}, Kind: jobs, Type: "jobs.batch", Goal: g}}
}

// later returns targets whose kind is not served yet.
func later(targets []Target) []Target {
	targets = slices.Clone(targets)
	for i := range targets {
		targets[i].Kind = object.Kind{GVK: jobs.GVK, Namespaced: true}
	}
	return targets
}

// outcome contains the events and the error of a wait.
type outcome struct {
	// Results maps names of objects to results, such as "met" and "timeout: does not exist".
	Results map[string]string
	// Reported is when each result was emitted.
	Reported map[string]time.Duration
	After    time.Duration
	Err      error
	Warned   []string
	Judged   int
	Events   []event.Event
}

// wait runs an engine in virtual time. Meanwhile, happens changes the world.
func (w *world) wait(t *testing.T, e Engine, targets []Target, happens func()) outcome {
	t.Helper()
	out := outcome{Results: map[string]string{}, Reported: map[string]time.Duration{}}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		e.Source = w
		e.Emit = func(ev event.Event) {
			out.Events = append(out.Events, ev)
			switch ev := ev.(type) {
			case event.Waited:
				out.Reported[ev.Ref.Name] = time.Since(began)
				out.Results[ev.Ref.Name] = strings.TrimSuffix(string(ev.Action)+": "+ev.Note, ": ")
			case event.Warned:
				out.Warned = append(out.Warned, ev.Ref.Name+" "+ev.Text)
			case event.Judged:
				out.Judged++
			}
		}
		if happens != nil {
			go happens()
		}
		out.Err = e.Run(t.Context(), targets)
		out.After = time.Since(began)
	})
	return out
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "", nil)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
