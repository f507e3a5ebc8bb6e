package deletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The deletion of a thousand objects needs one watch, and one request for each object.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var names []string
		for i := range 1000 {
			names = append(names, fmt.Sprintf("c-%03d", i))
			f.put(config(names[i]))
		}
		r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, names...))
		if r.err != nil || len(r.calls) != 1001 {
			t.Errorf("%v after %d requests", r.err, len(r.calls))
		}
		if n := len(r.results()); n != 1000 {
			t.Errorf("%d results", n)
		}
	})
}

// A phase begins only when all objects of the previous phase are gone.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a", "x/hold"), config("b"))
		after(10*time.Second, func() {
			if f.called("delete b") {
				t.Error("b was requested while a existed")
			}
			f.remove("a")
		})
		r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a"), named(configMaps, "b"))
		same(t, []string{"a deleted", "b deleted"}, r.results())
	})
}

func TestNextPhaseIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a", "x/hold"), config("b"))
		e := &Engine{Wait: true, Timeout: func(object.Kind) time.Duration { return time.Minute }}
		r := start(t.Context(), e, f, named(configMaps, "a"), named(configMaps, "b"))
		same(t, []string{"a terminating", "b skipped"}, r.results())
		var incomplete *IncompleteError
		if !errors.As(r.err, &incomplete) || incomplete.Remaining != 1 {
			t.Error(r.err)
		}
	})
}

// An object that was seen and still exists delays the next phase. An object that was never seen
// does not: the set is deleted even if one of its objects is unknown, because its version is not
// served or the user may not read it.
func TestNextPhaseWaitsForSeenObjects(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no"))
	for name, tt := range map[string]struct {
		first  func(*Phase, *fake)
		result string
		goesOn bool
	}{
		"its kind is unknown": {
			first:  func(ph *Phase, _ *fake) { ph.Sets[0].Items[0].Err = errors.New("the server serves no such kind") },
			result: "a unknown", goesOn: true,
		},
		"the user may neither read nor delete it": {
			first: func(_ *Phase, f *fake) {
				f.refuse = func(_, name string) error {
					if strings.Contains(name, "a") {
						return forbidden
					}
					return nil
				}
			},
			result: "a unknown", goesOn: true,
		},
		"it is refused": {
			first: func(_ *Phase, f *fake) {
				f.refuse = func(verb, name string) error {
					if verb == "delete" && name == "a" {
						return apierrors.NewBadRequest("no")
					}
					return nil
				}
			},
			result: "a failed",
		},
		"it is terminating": {
			first:  func(_ *Phase, f *fake) { f.put(config("a", "x/hold")) },
			result: "a terminating",
		},
		"it does not exist": {
			first:  func(_ *Phase, f *fake) { delete(f.objects, "a") },
			result: "a absent", goesOn: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(config("a"), config("b"))
				first := named(configMaps, "a")
				tt.first(&first, f)
				limit := func(object.Kind) time.Duration { return time.Minute }
				r := start(t.Context(), &Engine{Wait: true, IgnoreAbsent: true, Timeout: limit}, f, first, named(configMaps, "b"))
				next := "b skipped"
				if tt.goesOn {
					next = "b deleted"
				}
				same(t, []string{tt.result, next}, r.results())
				if tt.goesOn != f.called("delete b") {
					t.Errorf("requests: %v", f.calls)
				}
			})
		})
	}
}

// A missing object is a failure, unless IgnoreAbsent is set. In neither case does the engine wait
// for it.
func TestAbsent(t *testing.T) {
	for name, tt := range map[string]struct {
		ignore bool
		want   []string
		failed bool
	}{
		"failure": {false, []string{"a failed", "b deleted"}, true},
		"ignored": {true, []string{"a absent", "b deleted"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{Wait: true, IgnoreAbsent: tt.ignore}
			r := start(t.Context(), e, newFake(config("b")), named(configMaps, "a"), named(configMaps, "b"))
			same(t, tt.want, r.results())
			if (r.err != nil) != tt.failed {
				t.Error(r.err)
			}
		})
	}
}

// Edge case 68: another object that has the name now is not deleted.
func TestReplaced(t *testing.T) {
	other := config("a")
	other.SetUID("other")
	for name, come := range map[string]func(f *fake){
		"before the request": func(f *fake) {
			f.refuse = func(verb, _ string) error {
				if verb == "delete" {
					f.objects["a"] = other
				}
				return nil
			}
		},
		"after the request": func(f *fake) { after(time.Second, func() { f.put(other) }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(config("a", "x/hold"), config("b", "x/hold"))
				come(f)
				after(2*time.Second, func() { f.remove("b") })
				r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a", "b"))
				reported := slices.ContainsFunc(r.events, func(e event.Event) bool {
					w, ok := e.(event.Warned)
					return ok && w.Ref.Name == "a" && w.Text == otherNow
				})
				if d := r.result(t, "a"); d.Action != event.Gone || !reported && d.Reason != otherNow || r.err != nil {
					t.Errorf("%+v, %v", d, r.err)
				}
				if left, _ := f.get(r.result(t, "a").Ref); left == nil || left.GetUID() != "other" || left.GetDeletionTimestamp() != nil {
					t.Errorf("the new object was changed: %v", left)
				}
			})
		})
	}
}

// Stays is called for the version that will be deleted. If the object changes before the deletion,
// Stays is called again. An object that stays does not delay the next phase.
func TestStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a"), config("b"), config("c"))
		changes := map[string]int{"a": 1, "b": 2}
		f.refuse = func(verb, name string) error {
			if verb != "delete" || changes[name] == 0 {
				return nil
			}
			changes[name]--
			u := f.objects[name].DeepCopy()
			f.version++
			u.SetResourceVersion(fmt.Sprint(f.version))
			if name == "a" {
				u.SetLabels(map[string]string{"stay": "here"})
			}
			f.objects[name] = u
			return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, name, errors.New("it has changed"))
		}
		first := named(configMaps, "a", "b")
		asked := map[string]int{}
		var mu sync.Mutex
		for i, it := range first.Sets[0].Items {
			first.Sets[0].Items[i].Stays = func(live *unstructured.Unstructured) string {
				mu.Lock()
				defer mu.Unlock()
				asked[it.Ref.Name]++
				return live.GetLabels()["stay"]
			}
		}
		r := start(t.Context(), &Engine{Wait: true}, f, first, named(configMaps, "c"))
		if d := r.result(t, "a"); d.Action != event.Kept || d.Reason != "here" || f.objects["a"] == nil {
			t.Errorf("a: %+v", d)
		}
		for _, name := range []string{"b", "c"} {
			if d := r.result(t, name); d.Action != event.Gone || f.objects[name] != nil {
				t.Errorf("%s: %+v", name, d)
			}
		}
		if r.err != nil || asked["a"] != 2 || asked["b"] != 3 {
			t.Errorf("%v, Stays called for %v", r.err, asked)
		}
	})
}

// Edge case 57: after five minutes in which every read fails, the object counts as unknown, not as
// deleted. The errors are reported when they begin, counted, and end the wait.
func TestEveryReadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a", "x/hold"))
		began := time.Now()
		broken := errors.New("etcd is on fire")
		after(time.Minute, func() { f.blind(broken) })
		after(2*time.Minute, func() { f.blind(nil) })
		after(3*time.Minute, func() { f.blind(broken) })
		after(4*time.Minute, func() { f.blind(broken) })
		r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a"))
		var blind *watchset.BlindError
		d := r.result(t, "a")
		if d.Action != event.Unknown || !errors.As(d.Err, &blind) || blind.Failures != 2 || !errors.Is(d.Err, broken) {
			t.Errorf("%+v", d)
		}
		if took := time.Since(began); took != 8*time.Minute {
			t.Errorf("given up after %s", took)
		}
		var incomplete *IncompleteError
		if !errors.As(r.err, &incomplete) || incomplete.Unknown != 1 {
			t.Error(r.err)
		}
		reported := slices.ContainsFunc(r.events, func(e event.Event) bool {
			retrying, ok := e.(event.Retrying)
			return ok && errors.Is(retrying.Err, broken) && retrying.Left == 5*time.Minute
		})
		if !reported {
			t.Error("the errors are not reported")
		}
	})
}

// As above, but the reads fail from the beginning.
func TestEveryReadFailsFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a"))
		f.unreadable = errors.New("no")
		r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a"))
		same(t, []string{"a unknown"}, r.results())
		if f.objects["a"] == nil {
			t.Error("the object was deleted although it was never read")
		}
	})
}

// A watch that ends with a transient error is started again.
func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n := newFake(config("a")), 0
		f.refuse = func(verb, _ string) error {
			if n++; verb == "watch" && n <= 3 {
				return apierrors.NewInternalError(errors.New("no"))
			}
			return nil
		}
		r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a"))
		same(t, []string{"a deleted"}, r.results())
	})
}

// An object that is deleted between two consecutive watches is reported as gone.
func TestGoneBetweenTwoWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a", "x/hold"), config("b", "x/hold"))
		after(time.Minute, func() {
			f.interrupt(apierrors.NewInternalError(errors.New("no")))
			f.remove("a")
		})
		after(2*time.Minute, func() { f.remove("b") })
		r := start(t.Context(), &Engine{Wait: true, Timeout: func(object.Kind) time.Duration { return time.Hour }}, f,
			named(configMaps, "a", "b"))
		same(t, []string{"a deleted", "b deleted"}, r.results())
	})
}

// A user who may not list watches each object by name.
func TestNoPermissionToList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var names []string
		for i := range 2 * few {
			names = append(names, fmt.Sprintf("c%02d", i))
			f.put(config(names[i]))
		}
		f.refuse = func(verb, name string) error {
			if verb == "watch" && name == "prod/" {
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
			}
			return nil
		}
		r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, append(names, "absent")...))
		if n := len(r.results()); n != len(names)+1 || r.result(t, "absent").Action != event.Failed {
			t.Errorf("%v", r.results())
		}
	})
}

// For a user who may neither read nor delete, the result is unknown.
func TestNoPermissionToReadOrDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a"))
		f.refuse = func(string, string) error {
			return apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no"))
		}
		r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a"))
		same(t, []string{"a unknown"}, r.results())
	})
}

// A refusal by admission is reported as refused. With a missing permission, the result is unknown,
// because it says nothing about the object.
func TestRefused(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no"))
	for name, tt := range map[string]struct {
		err  error
		may  bool
		want string
	}{
		"by admission":   {forbidden, true, "a failed"},
		"by RBAC":        {forbidden, false, "a unknown"},
		"as invalid":     {apierrors.NewBadRequest("no"), true, "a failed"},
		"unavailable":    {apierrors.NewServiceUnavailable("no"), true, "a unknown"},
		"internal error": {apierrors.NewInternalError(errors.New("no")), true, "a unknown"},
		"timeout":        {apierrors.NewTimeoutError("no", 0), true, "a unknown"},
		"too many":       {apierrors.NewTooManyRequestsError("no"), true, "a unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(config("a"))
				f.refuse = func(verb, _ string) error {
					if verb == "delete" || verb == "may-delete" && !tt.may {
						return tt.err
					}
					return nil
				}
				r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a"))
				same(t, []string{tt.want}, r.results())
			})
		})
	}
}

// If ExplainRefusal finds the webhook behind a server error, the result is a refusal, as for an
// apply.
func TestRefusedByAWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a"))
		silent := errors.New("webhook x refuses the object")
		f.refuse = func(verb, _ string) error {
			if verb == "delete" {
				return apierrors.NewInternalError(errors.New("failed calling webhook"))
			}
			return nil
		}
		f.explains = func(error) error { return silent }
		r := start(t.Context(), &Engine{Wait: true}, f, named(configMaps, "a"))
		same(t, []string{"a failed"}, r.results())
		for _, e := range r.events {
			if d, ok := e.(event.Deleted); ok && !errors.Is(d.Err, silent) {
				t.Errorf("the error is %v", d.Err)
			}
		}
	})
}

// When a kind is no longer served, its objects are gone. A second request has to confirm that the
// kind is not served.
func TestKindIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a"))
		missing := &meta.NoKindMatchError{GroupKind: configMaps.GVK.GroupKind()}
		f.refuse = func(verb, _ string) error {
			if verb == "watch" {
				return missing
			}
			return nil
		}
		r := start(t.Context(), &Engine{Wait: true, IgnoreAbsent: true}, f, named(configMaps, "a"))
		same(t, []string{"a absent"}, r.results())
		if n := strings.Count(strings.Join(f.calls, "\n"), "watch"); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// When a kind is served at another version, its objects still exist.
func TestKindAtAnotherVersion(t *testing.T) {
	for _, verb := range []string{"watch", "delete"} {
		t.Run(verb, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(config("a"))
				moved := fmt.Errorf("%w: it is in v2", &meta.NoKindMatchError{GroupKind: configMaps.GVK.GroupKind()})
				f.refuse = func(asked, _ string) error {
					if asked == verb {
						return moved
					}
					return nil
				}
				r := start(t.Context(), &Engine{Wait: true, IgnoreAbsent: true}, f, named(configMaps, "a"))
				same(t, []string{"a unknown"}, r.results())
			})
		})
	}
}

func TestSelection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a", "x/hold"), config("b"))
		after(time.Second, func() { f.put(config("late")) })
		after(2*time.Second, func() { f.remove("a") })
		all := Phase{Sets: []Set{{Kind: configMaps, Selection: object.Selection{Namespace: "prod"}}}}
		r := start(t.Context(), &Engine{Wait: true}, f, all)
		same(t, []string{"a deleted", "b deleted"}, r.results())
		if planned, ok := r.events[0].(event.Planned); !ok || planned.Phases[0].Total != 2 {
			t.Errorf("the first event is %+v, want a plan with two objects", r.events[0])
		}
	})
}

// An object that its selector no longer matches is not reported as gone.
func TestObjectLeavesItsSelection(t *testing.T) {
	t.Run("label", func(t *testing.T) { leavesItsSelection(t, object.Selection{Namespace: "prod", Labels: "app=web"}) })
	t.Run("field", func(t *testing.T) {
		leavesItsSelection(t, object.Selection{Namespace: "prod", Fields: "status.phase=Running"})
	})
}

func leavesItsSelection(t *testing.T, by object.Selection) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a", "x/hold"), config("b", "x/hold"))
		after(time.Second, func() { f.each(config("a"), object.Gone{Object: config("a")}) })
		after(2*time.Second, func() { f.remove("b") })
		var gone time.Duration
		began := time.Now()
		after(time.Minute, func() { gone = time.Since(began); f.remove("a") })
		web := Phase{Sets: []Set{{Kind: configMaps, Selection: by}}}
		r := start(t.Context(), &Engine{Wait: true}, f, web)
		same(t, []string{"a deleted", "b deleted"}, r.results())
		if gone == 0 {
			t.Error("the run was over before it was gone")
		}
	})
}

func TestDryRun(t *testing.T) {
	for mode, calls := range map[object.DryRun]int{object.DryRunClient: 1, object.DryRunServer: 2} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(config("a", "x/hold"))
				r := start(t.Context(), &Engine{Wait: true, DryRun: mode}, f, named(configMaps, "a"))
				d := r.result(t, "a")
				if d.Action != event.Gone || !d.DryRun || f.objects["a"].GetDeletionTimestamp() != nil || len(f.calls) != calls {
					t.Errorf("%+v after %v", d, f.calls)
				}
			})
		})
	}
}

// Without Wait, an accepted deletion is not a failure.
func TestNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a", "x/hold"), config("b"))
		r := start(t.Context(), &Engine{}, f, named(configMaps, "a"), named(configMaps, "b"))
		same(t, []string{"a terminating", "b deleted"}, r.results())
		if r.err != nil {
			t.Error(r.err)
		}
	})
}

// After an interrupt, the run reports which deletions were requested and which were not.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		f := newFake(config("a", "x/hold"), config("b"))
		after(time.Second, func() { cancel(stop) })
		r := start(ctx, &Engine{Wait: true}, f, named(configMaps, "a"), named(configMaps, "b"))
		same(t, []string{"a terminating", "b skipped"}, r.results())
		if !errors.Is(r.err, stop) {
			t.Error(r.err)
		}
	})
}

// An object whose deletion was accepted is not reported as skipped if the interrupt stops the
// request that shows whether the object still exists.
func TestInterruptedSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		f := newFake(config("a", "x/hold"))
		f.refuse = func(verb, _ string) error {
			if verb != "get" {
				return nil
			}
			cancel(stop)
			return stop
		}
		after(time.Second, func() { f.each(config("a"), object.Gone{Object: config("a")}) })
		labeled := Phase{Sets: []Set{{Kind: configMaps, Selection: object.Selection{Namespace: "prod", Labels: "app=web"}}}}
		r := start(ctx, &Engine{Wait: true}, f, labeled)
		same(t, []string{"a terminating"}, r.results())
		if !f.called("get a") || !errors.Is(r.err, stop) {
			t.Errorf("requests %v, error %v", f.calls, r.err)
		}
	})
}

// For some kinds, the response to a deletion is the deleted object. After an interrupt, it is
// reported as deleted, although the watch did not show that.
func TestInterruptedAfterTheObjectWasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		f := newFake(config("a"), config("b", "x/hold"))
		f.returnsObject = true
		after(time.Second, func() { cancel(errors.New("stop")) })
		r := start(ctx, &Engine{Wait: true}, f, named(configMaps, "a", "b"))
		same(t, []string{"a deleted", "b terminating"}, r.results())
	})
}

// Custom resources whose CRD is in the set are deleted before the controllers that clean up after
// them. Aggregated roles are deleted before their parts, and CRDs last.
func TestReverse(t *testing.T) {
	phases := Reverse(operatorPlan(t))
	var got []string
	for _, ph := range phases {
		for _, s := range ph.Sets {
			for _, it := range s.Items {
				got = append(got, ph.Name+": "+it.Ref.Resource())
			}
		}
	}
	same(t, []string{
		"workloads, custom: widget.example.com/one",
		"workloads: deployment.apps/operator",
		"configuration: serviceaccount/operator",
		"CRDs and namespaces, aggregated: clusterrole.rbac.authorization.k8s.io/whole",
		"CRDs and namespaces: namespace/ops",
		"CRDs and namespaces: customresourcedefinition.apiextensions.k8s.io/widgets.example.com",
		"CRDs and namespaces: clusterrole.rbac.authorization.k8s.io/part",
	}, got)
}
