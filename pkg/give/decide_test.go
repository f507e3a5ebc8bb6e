package give

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Every object is read, admitted and reported to OnGive before the first write.
func TestDecidesBeforeItWrites(t *testing.T) {
	f := &fake{live: map[string]*unstructured.Unstructured{}}
	var targets []Target
	for _, name := range []string{"a", "b", "c", "d"} {
		f.live[name] = configMap(t, name)
		targets = append(targets, Target{Ref: object.Ref{Name: name, Namespace: "shop"}})
	}
	note := func(what, name string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.note("%s %s", what, name)
	}
	e := Engine{
		Server: f, Wish: transfer.Wish{Paths: []fieldpath.Path{fieldpath.Field("data", "a")}, From: []string{"edit"}, To: "flux"},
		Admit: func(live *unstructured.Unstructured) error {
			note("admit", live.GetName())
			if live.GetName() == "d" {
				return errors.New("it belongs to another tool")
			}
			return nil
		},
		OnGive:       func(live *unstructured.Unstructured, _ []event.Move) { note("given", live.GetName()) },
		BeforeWrites: func() { note("before", "writes") },
		Emit: func(ev event.Event) {
			if g, ok := ev.(event.Given); ok && g.Action == event.Failed {
				note("refused", g.Ref.Name)
			}
		},
	}
	if err := e.Run(t.Context(), targets); err == nil || !strings.Contains(err.Error(), "1 objects were refused") {
		t.Errorf("error %v", err)
	}
	writes := slices.Index(f.calls, "before writes")
	if writes < 0 {
		t.Fatalf("BeforeWrites was not called: %q", f.calls)
	}
	for i, call := range f.calls {
		isWrite := strings.HasPrefix(call, "put ")
		if i != writes && isWrite != (i > writes) {
			t.Errorf("call %d, %q, is on the wrong side of the first write:\n%q", i, call, f.calls)
		}
	}
	for _, call := range []string{"refused d", "given a", "given b", "given c"} {
		if !slices.Contains(f.calls[:writes], call) {
			t.Errorf("no %q before the first write:\n%q", call, f.calls)
		}
	}
	if slices.ContainsFunc(f.calls, func(call string) bool { return strings.HasPrefix(call, "put d") }) {
		t.Errorf("the refused object was written:\n%q", f.calls)
	}
}
