package deletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// shop is a namespace, so it is deleted only after its contents.
func shop() *unstructured.Unstructured {
	u := config("shop", "kubernetes")
	u.SetGroupVersionKind(namespaces.GVK)
	u.SetNamespace("")
	return u
}

// Story 1: a cause that does not pass on its own ends the wait after a while, so that a CI job does
// not wait for the whole timeout. The wait continues if the cause changes or may pass, or if the
// object makes progress.
func TestLastingCauseEndsWait(t *testing.T) {
	ends := func(c event.Cause) time.Duration {
		if c.Code == "Lasts" {
			return time.Minute
		}
		return 0
	}
	for name, tt := range map[string]struct {
		causes func(*explainer)
		moves  time.Duration // when a finalizer goes
		ends   time.Duration // 0: at the timeout
	}{
		"lasts":                              {causes: func(x *explainer) { x.set("Lasts") }, ends: 75 * time.Second},
		"passes":                             {causes: func(x *explainer) { x.set("Passes") }},
		"a lasting cause that ends":          {causes: func(x *explainer) { x.set("Lasts"); after(40*time.Second, func() { x.set("Passes") }) }},
		"a lasting cause that appears later": {causes: func(x *explainer) { x.set("Passes"); after(40*time.Second, func() { x.set("Lasts") }) }, ends: 2 * time.Minute},
		"a finalizer is removed":             {causes: func(x *explainer) { x.set("Lasts") }, moves: 50 * time.Second, ends: 125 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, x := newFake(config("a", "x", "y")), &explainer{}
				tt.causes(x)
				if tt.moves > 0 {
					after(tt.moves, func() { f.put(terminating(config("a", "y"))) })
				}
				began := time.Now()
				r := start(t.Context(), &Engine{
					Wait: true, Explainer: x, EndsFor: ends, Timeout: func(object.Kind) time.Duration { return 20 * time.Minute },
				}, f, named(configMaps, "a"))
				same(t, []string{"a terminating"}, r.results())
				want := tt.ends
				if want == 0 {
					want = 20 * time.Minute
				}
				if took := time.Since(began); took != want {
					t.Errorf("took %s, want %s", took, want)
				}
			})
		})
	}
}

// Edge case 58: a namespace that loses objects is slow, not stuck, however long that takes. It is
// stuck once it stops losing objects. That is reported once, and again if the cause changes.
func TestSlowIsNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, x, c := newFake(shop()), &explainer{}, &counter{left: 2000}
		x.set("First")
		began := time.Now()
		for i := range 20 {
			after(time.Duration(i)*10*time.Second, func() { c.set(2000 - 100*i) })
		}
		var before atomic.Int64
		after(200*time.Second, func() { before.Store(int64(x.times())) })
		after(400*time.Second, func() { x.set("Second") })
		after(800*time.Second, func() { f.remove("shop") })
		r := start(t.Context(), &Engine{Wait: true, Explainer: x, Counter: c}, f, named(namespaces, "shop"))
		if n := before.Load(); n != 0 {
			t.Errorf("%d explanations while it lost objects", n)
		}
		same(t, []string{"First", "Second"}, r.message())
		same(t, []string{"shop deleted"}, r.results())
		if took := time.Since(began); took != 800*time.Second {
			t.Errorf("took %s", took)
		}
		var last event.Terminating
		for _, e := range r.events {
			if g, ok := e.(event.Terminating); ok {
				last = g
			}
		}
		if last.Done != 1900 || last.Total != 2000 {
			t.Errorf("last milestone: %+v", last)
		}
	})
}

// Removed finalizers and new conditions count as progress. A condition that alternates between two
// states does not.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, x := newFake(config("a", "x/1", "x/2", "x/3")), &explainer{}
		x.set("Held")
		after(10*time.Second, func() { f.put(terminating(config("a", "x/2", "x/3"))) })
		after(20*time.Second, func() { f.put(terminating(config("a", "x/3"))) })
		for i := range 60 {
			flapping := terminating(config("a", "x/3"))
			_ = unstructured.SetNestedSlice(flapping.Object, []any{
				map[string]any{"type": "Ready", "status": fmt.Sprint(i%2 == 0)},
			}, "status", "conditions")
			after(time.Duration(30+i)*time.Second, func() { f.put(flapping) })
		}
		at := time.Now()
		var explained time.Duration
		e := &Engine{Wait: true, Explainer: x}
		after(90*time.Second, func() { f.remove("a") })
		r := &run{Engine: e, fake: f}
		e.Server = f
		e.Emit = func(ev event.Event) {
			if _, ok := ev.(event.Stuck); ok && explained == 0 {
				explained = time.Since(at)
			}
			r.events = append(r.events, ev)
		}
		r.with(t.Context(), []Phase{named(configMaps, "a")})
		if want := 46 * time.Second; explained != want { // 31 s for the last new state, plus 15 s
			t.Errorf("explained after %s, want %s", explained, want)
		}
		var texts []string
		for _, ev := range r.events {
			if g, ok := ev.(event.Terminating); ok {
				texts = append(texts, g.Text)
			}
		}
		same(t, []string{
			"finalizer x/1 is gone", "finalizer x/2 is gone",
			"condition Ready is true", "condition Ready is false",
		}, texts)
	})
}

// A pod is explained only after the end of its grace period.
func TestPodInGracePeriodIsNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &explainer{}
		pod := terminating(config("a", "x/hold"))
		until := pod.GetDeletionTimestamp().Add(5 * time.Minute)
		stamp := *pod.GetDeletionTimestamp()
		stamp.Time = until
		pod.SetDeletionTimestamp(&stamp)
		f := newFake(pod)
		f.refuse = func(verb, _ string) error {
			if verb == "delete" {
				after(time.Second, func() { f.put(pod) })
			}
			return nil
		}
		after(4*time.Minute, func() { f.remove("a") })
		start(t.Context(), &Engine{Wait: true, Explainer: x}, f, named(configMaps, "a"))
		if x.asked > 1 { // The fake's answer to the deletion has another timestamp.
			t.Errorf("%d explanations", x.asked)
		}
	})
}

// Each kind has its own timeout. Before the timeout ends the wait, the cause is reported once.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, x := newFake(config("a", "x/hold"), shop()), &explainer{}
		x.set("Held")
		e := &Engine{Wait: true, Explainer: x, StuckAfter: time.Hour, Timeout: func(kind object.Kind) time.Duration {
			if kind.GVK.Kind == "Namespace" {
				return 20 * time.Minute
			}
			return 5 * time.Minute
		}}
		both := named(configMaps, "a")
		both.Sets = append(both.Sets, named(namespaces, "shop").Sets...)
		began := time.Now()
		r := start(t.Context(), e, f, both)
		if took := time.Since(began); took != 20*time.Minute {
			t.Errorf("took %s", took)
		}
		same(t, []string{"a terminating", "shop terminating"}, r.results())
		if causes := r.result(t, "a").Causes; len(causes) != 1 || causes[0].Code != "Held" {
			t.Errorf("causes: %v", causes)
		}
	})
}

// If an object has made progress since its cause was reported, it is explained again before it is
// given up, because the cause may be gone.
func TestTimeoutAfterProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, x := newFake(config("a", "x/1", "x/2")), &explainer{}
		x.set("First")
		after(25*time.Second, func() {
			x.set("Second")
			f.put(terminating(config("a", "x/2")))
		})
		e := &Engine{Wait: true, Explainer: x, Timeout: func(object.Kind) time.Duration { return 30 * time.Second }}
		r := start(t.Context(), e, f, named(configMaps, "a"))
		same(t, []string{"First", "Second"}, r.message())
		if causes := r.result(t, "a").Causes; len(causes) != 1 || causes[0].Code != "Second" {
			t.Errorf("causes: %v", causes)
		}
	})
}

// If very many objects are stuck, only some are explained, and the run still ends.
func TestManyStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, x := newFake(), &explainer{}
		x.set("Held")
		var names []string
		for i := range 3 * explainMany {
			names = append(names, fmt.Sprintf("c-%03d", i))
			f.put(config(names[i], "x/hold"))
		}
		e := &Engine{Wait: true, Explainer: x, Timeout: func(object.Kind) time.Duration { return 16 * time.Second }}
		r := start(t.Context(), e, f, named(configMaps, names...))
		if n := len(r.message()); n != explainMany || len(r.results()) != len(names) {
			t.Errorf("%d explanations, %d results", n, len(r.results()))
		}
		want := fmt.Sprintf("%d objects are still there; the first %d of them are explained, %d are not", len(names), explainMany, len(names)-explainMany)
		same(t, []string{want}, r.warnings())
	})
}

// Edge case 69: only the named finalizer is removed, only from a terminating object, and only at
// the version that was seen.
func TestRemoveFinalizer(t *testing.T) {
	agree := func(context.Context, string, []object.Ref) error { return nil }
	held := terminating(config("a", "x/one", "x/two"))
	for name, tt := range map[string]struct {
		object  *unstructured.Unstructured
		confirm func(context.Context, string, []object.Ref) error
		meddle  func(f *fake)
		want    string
		calls   []string
	}{
		"removed, and the other one is kept": {
			object: held, want: "a terminating",
			calls: []string{"watch prod/a", "release a x/one"},
		},
		"the last finalizer": {object: terminating(config("a", "x/one")), want: "a deleted", calls: []string{"watch prod/a", "release a x/one"}},
		"the user declines": {
			object: held, confirm: func(context.Context, string, []object.Ref) error { return ErrDeclined },
			want: "a skipped", calls: []string{"watch prod/a"},
		},
		"not terminating":   {object: config("a", "x/one"), want: "a failed", calls: []string{"watch prod/a"}},
		"another finalizer": {object: terminating(config("a", "x/two")), want: "a failed", calls: []string{"watch prod/a"}},
		"changed meanwhile": {
			object: held, want: "a terminating",
			meddle: func(f *fake) { f.objects["a"].SetResourceVersion("99") },
			calls:  []string{"watch prod/a", "release a x/one", "get a", "release a x/one"},
		},
		"removed meanwhile": { // for example by our own request whose answer was lost
			object: held, want: "a terminating",
			meddle: func(f *fake) {
				f.objects["a"].SetResourceVersion("99")
				f.objects["a"].SetFinalizers([]string{"x/two"})
			},
			calls: []string{"watch prod/a", "release a x/one", "get a"},
		},
		"replaced meanwhile": {
			object: held, want: "a deleted",
			meddle: func(f *fake) {
				other := config("a", "x/one")
				other.SetUID("other")
				f.objects["a"] = other
			},
			calls: []string{"watch prod/a", "release a x/one", "get a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, x := newFake(tt.object), &explainer{}
				meddled := false
				f.refuse = func(verb, _ string) error {
					if verb == "release" && tt.meddle != nil && !meddled {
						meddled = true
						f.objects["a"] = f.objects["a"].DeepCopy()
						tt.meddle(f)
					}
					return nil
				}
				if tt.confirm == nil {
					tt.confirm = agree
				}
				confirm := tt.confirm
				e := &Engine{
					Wait: true, Finalizer: "x/one", Explainer: x,
					Timeout: func(object.Kind) time.Duration { return time.Minute },
					Confirm: func(ctx context.Context, finalizer string, refs []object.Ref) error {
						if x.times() == 0 || len(refs) != 1 {
							t.Errorf("confirmation for %v before the explanation", refs)
						}
						return confirm(ctx, finalizer, refs)
					},
				}
				r := start(t.Context(), e, f, named(configMaps, "a"))
				same(t, []string{tt.want}, r.results())
				same(t, tt.calls, f.calls)
				if u := f.objects["a"]; u != nil && tt.want == "a terminating" {
					same(t, []string{"x/two"}, u.GetFinalizers())
				}
			})
		})
	}
}

// The removal of a finalizer is reported even if the object is gone before the request is answered.
func TestRemovedFinalizerIsReported(t *testing.T) {
	for _, latency := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(terminating(config("a", "x/one")))
			f.latency = latency
			e := &Engine{Wait: true, Finalizer: "x/one", Confirm: func(context.Context, string, []object.Ref) error { return nil }}
			r := start(t.Context(), e, f, named(configMaps, "a"))
			same(t, []string{"a deleted"}, r.results())
			if !slices.ContainsFunc(r.events, func(e event.Event) bool {
				g, ok := e.(event.Terminating)
				return ok && g.Text == "finalizer x/one was removed"
			}) {
				t.Errorf("after %s, the removal is not reported: %v", latency, r.events)
			}
		})
	}
}

// If admission refuses the removal of a finalizer, that is reported, and nothing else is tried.
func TestRemoveFinalizerRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(terminating(config("a", "x/one")))
		f.refuse = func(verb, _ string) error {
			if verb == "release" {
				return apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("admission webhook denied it"))
			}
			return nil
		}
		e := &Engine{Wait: true, Finalizer: "x/one", Confirm: func(context.Context, string, []object.Ref) error { return nil }}
		r := start(t.Context(), e, f, named(configMaps, "a"))
		same(t, []string{"a failed"}, r.results())
		if f.called("delete a") {
			t.Errorf("%v", f.calls)
		}
	})
}
