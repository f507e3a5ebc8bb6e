package apply

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// contestedServer has objects in which another manager owns .data.a. A forced apply takes the
// field.
func contestedServer(t *testing.T, names ...string) *fake {
	t.Helper()
	server := &fake{live: map[string]*unstructured.Unstructured{}}
	for _, name := range names {
		server.live[name] = held(t, name, "other")
	}
	server.apply = func(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
		if _, states, _ := unstructured.NestedString(u.Object, "data", "a"); server.live[u.GetName()] == nil {
			return u, nil
		} else if !states {
			return server.live[u.GetName()], nil
		}
		return taken(t, u.GetName()), nil
	}
	return server
}

// answers decides the conflicts of an object by the object's name, and records the questions.
type answers struct {
	by    map[string]Decision
	asked [][]string
}

func (a *answers) decide(_ context.Context, all []Contested) [][]Decision {
	var names []string
	out := make([][]Decision, len(all))
	for i, c := range all {
		names = append(names, c.Ref.Name+" "+c.Conflicts[0].Path.String()+"="+c.Conflicts[0].Live.(string))
		for range c.Conflicts {
			out[i] = append(out[i], a.by[c.Ref.Name])
		}
	}
	a.asked = append(a.asked, names)
	return out
}

// Decide is called once for a phase in conflict, in the order of the plan, before any object of the
// phase is written. A decided conflict is applied as if flags had decided it. An undecided conflict
// blocks its phase and later phases.
func TestDecide(t *testing.T) {
	for name, tt := range map[string]struct {
		by                 map[string]Decision
		continueOnConflict bool
		want               []string
		calls              []string
	}{
		"all decided": {
			by:    map[string]Decision{"a": Take, "b": Leave},
			want:  []string{"a configured", "b unchanged", "calm created", "late created"},
			calls: []string{"apply a", "apply calm", "apply late"},
		},
		"one undecided": {
			by:   map[string]Decision{"a": Take},
			want: []string{"a skipped", "b conflict", "calm skipped", "late skipped"},
		},
		"one undecided, with ContinueOnConflict": {
			by: map[string]Decision{"a": Take}, continueOnConflict: true,
			want:  []string{"a configured", "b conflict", "calm created", "late created"},
			calls: []string{"apply a", "apply calm", "apply late"},
		},
		"none": {want: []string{"a conflict", "b conflict", "calm skipped", "late skipped"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := contestedServer(t, "a", "b")
			r, user := newRun(server), &answers{by: tt.by}
			r.engine.ContinueOnConflict, r.engine.Decide = tt.continueOnConflict, user.decide
			err := r.engine.Run(t.Context(), phases([]plan.Item{item(t, "b"), item(t, "calm"), item(t, "a")}, []plan.Item{item(t, "late")}))
			if diff := cmp.Diff(tt.want, r.results()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.calls, server.writes()); diff != "" {
				t.Errorf("writes: %s", diff)
			}
			if diff := cmp.Diff([][]string{{"b .data.a=theirs", "a .data.a=theirs"}}, user.asked); diff != "" {
				t.Errorf("asked: %s", diff)
			}
			if undecided := len(tt.by) < 2; undecided != errors.As(err, new(*IncompleteError)) {
				t.Errorf("Run() = %v", err)
			}
		})
	}
}

func TestDryRunsDoNotAsk(t *testing.T) {
	for _, dryRun := range []object.DryRun{object.DryRunClient, object.DryRunServer} {
		r, user := newRun(contestedServer(t, "a")), &answers{by: map[string]Decision{"a": Take}}
		r.engine.DryRun, r.engine.Decide = dryRun, user.decide
		_ = r.engine.Run(t.Context(), phases([]plan.Item{item(t, "a")}))
		if len(user.asked) > 0 {
			t.Errorf("%s: asked %v", dryRun, user.asked)
		}
	}
}

// A take applies only to the value and owner that the user saw. If either has changed by the time
// of the write, the user is asked again.
func TestTakeAppliesOnlyToShownConflict(t *testing.T) {
	for name, change := range map[string]func(u *unstructured.Unstructured){
		"value": func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, "newer", "data", "a") },
		"owner": func(u *unstructured.Unstructured) {
			fields := u.GetManagedFields()
			fields[0].Manager = "third"
			u.SetManagedFields(fields)
		},
	} {
		for when, atWrite := range map[string]bool{"while the user thinks": false, "between the answer and the write": true} {
			t.Run(name+" "+when, func(t *testing.T) {
				server := contestedServer(t, "a")
				answer, changed := server.apply, false
				changeNow := func() {
					if !changed {
						changed = true
						now := server.live["a"].DeepCopy()
						change(now)
						now.SetResourceVersion("8")
						server.live["a"] = now
					}
				}
				server.apply = func(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
					if !how.DryRun && atWrite {
						changeNow()
					}
					if !how.Force {
						return nil, conflictErr()
					}
					if v := u.GetResourceVersion(); v != "" && v != server.live["a"].GetResourceVersion() {
						return nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("object was modified"))
					}
					out, err := answer(u, how)
					out.SetResourceVersion(server.live["a"].GetResourceVersion())
					return out, err
				}
				r, user := newRun(server), &answers{by: map[string]Decision{"a": Take}}
				r.engine.Decide = func(ctx context.Context, all []Contested) [][]Decision {
					if !atWrite {
						defer changeNow()
					}
					if len(user.asked) == 1 { // The user refuses the second time.
						user.by = nil
					}
					return user.decide(ctx, all)
				}
				if err := r.engine.Run(t.Context(), phases([]plan.Item{item(t, "a")})); !errors.As(err, new(*IncompleteError)) {
					t.Errorf("Run() = %v", err)
				}
				if diff := cmp.Diff([]string{"a conflict"}, r.results()); diff != "" {
					t.Error(diff)
				}
				if len(user.asked) != 2 {
					t.Errorf("asked %v, want twice", user.asked)
				}
				if name == "value" && len(user.asked) == 2 && user.asked[1][0] != "a .data.a=newer" {
					t.Errorf("the second question was about %v", user.asked[1])
				}
				if !atWrite && len(server.writes()) > 0 {
					t.Errorf("written: %v", server.writes())
				}
			})
		}
	}
}

// An interrupt at a prompt leaves the conflict open, as if the user had not decided it.
func TestInterruptAtPromptLeavesConflictOpen(t *testing.T) {
	r := newRun(contestedServer(t, "a"))
	ctx, interrupt := context.WithCancel(t.Context())
	r.engine.Decide = func(context.Context, []Contested) [][]Decision {
		interrupt()
		return [][]Decision{{Take}}
	}
	err := r.engine.Run(ctx, phases([]plan.Item{item(t, "a"), item(t, "b")}, []plan.Item{item(t, "late")}))
	incomplete, ok := errors.AsType[*IncompleteError](err)
	if !ok || incomplete.Conflicts != 1 || incomplete.Unknown > 0 {
		t.Errorf("Run() = %v", err)
	}
	if diff := cmp.Diff([]string{"a conflict", "b skipped", "late skipped"}, r.results()); diff != "" {
		t.Error(diff)
	}
	if writes := r.server.writes(); len(writes) > 0 {
		t.Errorf("written: %v", writes)
	}
}

// While the user decides, the object may be replaced by an object that Admit refuses.
func TestDecidedObjectIsAdmittedAgain(t *testing.T) {
	server := contestedServer(t, "a")
	r, refuse := newRun(server), false
	r.engine.Admit = func(plan.Item, *unstructured.Unstructured) error {
		if refuse {
			return errors.New("it is somebody else's now")
		}
		return nil
	}
	r.engine.Decide = func(context.Context, []Contested) [][]Decision {
		refuse = true
		return [][]Decision{{Take}}
	}
	_ = r.engine.Run(t.Context(), phases([]plan.Item{item(t, "a")}))
	if diff := cmp.Diff([]string{"a failed"}, r.results()); diff != "" {
		t.Error(diff)
	}
	for _, e := range r.events {
		if a, ok := e.(event.Applied); ok && a.Err == nil {
			t.Error("no reason")
		}
	}
}
