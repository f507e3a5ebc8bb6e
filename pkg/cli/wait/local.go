package wait

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// local checks objects in files once, without a server.
func (o *waitOptions) local(ctx context.Context, in verb.Invocation) error {
	manifests, err := o.targets.Files.ReadAsIs(ctx, in.Connection, in.Streams)
	if err != nil {
		return err
	}
	var files inFiles
	var all []wait.Target
	for _, m := range manifests {
		u := m.Object
		plural, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
		kind := object.Kind{GVK: u.GroupVersionKind(), Resource: plural.Resource, Namespaced: u.GetNamespace() != ""}
		files = append(files, u)
		all = append(all, wait.Target{
			Selection: object.Selection{Namespace: u.GetNamespace(), Name: u.GetName()},
			Kind:      kind, Type: plural.GroupResource().String(), Goal: o.goal,
		})
	}
	o.engine.Source, o.engine.Timeout = files, 0
	o.engine.Emit = func(e event.Event) { o.out.Print(timeless(e)) }
	return o.targets.Files.Incomplete(o.engine.Run(ctx, all))
}

// timeless turns a timeout into an unmet condition, because a check without a wait cannot time out.
func timeless(e event.Event) event.Event {
	if w, ok := e.(event.Waited); ok && w.Action == event.TimedOut {
		w.Action = event.Unmet
		return w
	}
	return e
}

// inFiles is a Source of objects that never change.
type inFiles []*unstructured.Unstructured

func (inFiles) Resource(_ context.Context, text string) (object.Kind, error) {
	return object.Kind{}, fmt.Errorf("without a server, %s cannot be looked up", text)
}

func (inFiles) Schema(context.Context, object.Kind) (*spec.Schema, error) { return nil, nil }

func (f inFiles) Watch(ctx context.Context, kind object.Kind, sel object.Selection, report func(object.Change)) error {
	for _, u := range f {
		if u.GroupVersionKind() == kind.GVK && u.GetNamespace() == sel.Namespace && (sel.Name == "" || sel.Name == u.GetName()) {
			report(object.Present{Object: u})
		}
	}
	report(object.Synced{})
	<-ctx.Done()
	return ctx.Err()
}

func (f *waitFlags) checkLocal(changed func(string) bool) error {
	if !f.local {
		return nil
	}
	if len(f.target.Filenames) == 0 && f.target.Kustomize == "" {
		return &object.HintedError{Err: errors.New("--local checks objects in files, but no file is given"), Advice: "use -f FILENAME, or -f - for standard input"}
	}
	var idle []string
	for _, name := range []string{"timeout", "timeout-for", "existence-timeout"} {
		if changed(name) {
			idle = append(idle, "--"+name)
		}
	}
	if len(idle) > 0 {
		return fmt.Errorf("--local does not wait, so it cannot be combined with %s", strings.Join(idle, " or "))
	}
	return nil
}
