package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// The run waits for a kind that is not served if an applied object of the set may install the kind,
// or if the user expects it. It never waits for a built-in kind. In other cases, the item fails
// after one request, with a hint how to wait.
func TestRunWaitsForUnservedKinds(t *testing.T) {
	for name, tt := range map[string]struct {
		group   string
		brought bool
		failing bool // the server refuses the object that would install the kind
		await   time.Duration
		want    []string // requests about the kind
		hint    string
	}{
		"kind that nothing installs":                                      {group: "x.io", hint: ""},
		"kind that an operator in the set installs":                       {group: "x.io", brought: true, want: []string{"served Thing"}},
		"kind of a refused operator":                                      {group: "x.io", brought: true, failing: true, hint: ""},
		"kind that the user expects":                                      {group: "x.io", await: 5 * time.Minute, want: []string{"served Thing 5m"}},
		"kind that an operator in the set installs, with a given timeout": {group: "x.io", brought: true, await: time.Minute, want: []string{"served Thing 1m"}},
		"built-in kind":                                                   {group: "batch"},
		"built-in kind that the user expects":                             {group: "policy", await: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			operator := item(t, "operator")
			custom := item(t, "custom")
			custom.GVK = schema.GroupVersionKind{Group: tt.group, Version: "v1beta1", Kind: "Thing"}
			custom.Object.SetGroupVersionKind(custom.GVK)
			custom.Kind = object.Kind{}
			if tt.brought {
				custom.Bringers = []object.Key{operator.Key()}
			}
			server := &fake{}
			if tt.failing {
				server.apply = func(u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
					return nil, errors.New("no " + u.GetName())
				}
			}
			r := newRun(server)
			r.engine.AwaitKinds = tt.await
			_ = r.engine.Run(t.Context(), phases([]plan.Item{operator}, []plan.Item{custom}))
			var asked []string
			for _, call := range server.calls {
				if strings.HasPrefix(call, "served") {
					asked = append(asked, call)
				}
			}
			if diff := cmp.Diff(tt.want, asked); diff != "" {
				t.Errorf("waited: %s", diff)
			}
			if hint := r.hintOf("custom"); !strings.Contains(hint, tt.hint) || tt.hint == "" && tt.want == nil && strings.Contains(hint, "await") {
				t.Errorf("hint %q, want %q", hint, tt.hint)
			}
		})
	}
}

// The run waits only for an operator that it has just written. One that an earlier run has started
// did not install the kind since then, unless the user expects it.
func TestRunWaitsForOperatorsOnlyIfWritten(t *testing.T) {
	operator := object.Key{Group: "apps", Kind: "Deployment", Name: "operator"}
	service := object.Key{Group: "apiregistration.k8s.io", Kind: "APIService", Name: "v1.x.io"}
	definition := object.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "things.x.io"}
	for _, test := range []struct {
		bringer object.Key
		action  event.Action
		await   time.Duration
		waits   bool
	}{
		{operator, event.Created, 0, true},
		{operator, event.Configured, 0, true},
		{operator, event.Recreated, 0, true},
		{operator, event.Unchanged, 0, false},
		{operator, event.Unchanged, time.Minute, true},
		{operator, event.Failed, 0, false},
		{operator, event.Skipped, time.Minute, false},
		{service, event.Unchanged, 0, true},
		{definition, event.Unchanged, 0, true},
	} {
		e := &newRun(&fake{}).engine
		e.AwaitKinds = test.await
		e.done.setAction(test.bringer, test.action)
		if _, waits := e.awaited(plan.Item{Bringers: []object.Key{test.bringer}}); waits != test.waits {
			t.Errorf("%s, %s, await %s: waits %t", test.bringer.Kind, test.action, test.await, waits)
		}
	}
}

// A CRD whose names are taken is never served. Objects of its kind fail at once, with the server's
// reason.
func TestDefinitionThatIsNotEstablished(t *testing.T) {
	definition := item(t, "definition")
	definition.GVK.Kind = "CustomResourceDefinition"
	custom := item(t, "custom", definition.Key())
	custom.Kind.Resource = ""
	custom.Bringers = custom.Needs
	server := &fake{refusal: errors.New("its name is taken")}
	r := newRun(server)
	if err := r.engine.Run(t.Context(), phases([]plan.Item{definition}, []plan.Item{custom})); err == nil {
		t.Error("Run() = nil, want an error")
	}
	if got := r.of("custom").Err; got == nil || got.Error() != "its name is taken" {
		t.Errorf("custom: %v", got)
	}
	if slices.Contains(server.calls, "apply custom") {
		t.Errorf("requests: %q", server.calls)
	}
}

// beside is a server that receives two requests, for an established CRD and for its served kind. It
// answers neither until it has received both.
type beside struct {
	fake
	established, served chan struct{}
	refusing            bool
}

func (b *beside) Established(ctx context.Context, definition string) error {
	close(b.established)
	if b.refusing {
		<-b.served
		return errors.New("its name is taken")
	}
	select {
	case <-b.served:
		return b.fake.Established(ctx, definition)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *beside) Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (object.Kind, error) {
	close(b.served)
	<-b.established
	if b.refusing { // A refused CRD is never served.
		<-ctx.Done()
		return object.Kind{}, ctx.Err()
	}
	return b.fake.Served(ctx, gvk, within)
}

// The two requests about a new CRD are sent at once. If the server refuses the CRD, the wait for
// its kind ends.
func TestDefinitionAndItsKindAreAwaitedConcurrently(t *testing.T) {
	for name, refusing := range map[string]bool{"accepted": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				definition := item(t, "definition")
				definition.GVK.Kind = "CustomResourceDefinition"
				custom := item(t, "custom", definition.Key())
				custom.Kind.Resource = ""
				custom.Bringers = custom.Needs
				server := &beside{established: make(chan struct{}), served: make(chan struct{}), refusing: refusing}
				r := newRun(&server.fake)
				r.engine.Server = server
				err := r.engine.Run(t.Context(), phases([]plan.Item{definition}, []plan.Item{custom}))
				got := r.of("custom").Err
				if refusing != (err != nil) || refusing != (got != nil) || refusing && got.Error() != "its name is taken" {
					t.Errorf("Run() = %v, error of custom: %v, want both only if the definition is refused", err, got)
				}
			})
		})
	}
}

// hintOf returns the hint of an object's error.
func (r *run) hintOf(name string) string {
	if hinter, ok := errors.AsType[interface {
		error
		Hint() string
	}](r.of(name).Err); ok {
		return hinter.Hint()
	}
	return ""
}

// of returns the result of an object.
func (r *run) of(name string) event.Applied {
	for _, e := range r.events {
		if applied, ok := e.(event.Applied); ok && applied.Ref.Name == name {
			return applied
		}
	}
	return event.Applied{}
}
