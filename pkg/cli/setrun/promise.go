package setrun

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// recall finds the members of a set whose parent was deleted, in the kinds and namespaces of the
// input and of the history. It adds these kinds and namespaces to the new promise if it finds a
// member, so that the next prune searches them too.
func (r *Run) recall(ctx context.Context) error {
	if r.set.Exists {
		return nil
	}
	before := r.set.Record.Promise
	wider := before.Union(r.promise())
	if r.Former != nil {
		former, err := r.Former(ctx, r.set.Record.Parent)
		if err == nil {
			wider = wider.Union(former)
		}
	}
	r.set.Record.Promise = wider
	members, err := r.set.Members(ctx)
	if err != nil && r.options.Prune {
		return err
	}
	if len(members) == 0 {
		r.set.Record.Promise, r.set.Unserved = before, nil
		return nil
	}
	r.recalled = true
	r.Emit(event.Warned{Ref: r.set.Record.Parent, Text: fmt.Sprintf(
		"is gone, but %s found, so the parent is created again. Members whose kind or namespace is in neither the input nor the history cannot be found this way; they have the label %s",
		found(len(members)), applyset.Selector(r.set.ID()))})
	return nil
}

func found(n int) string {
	if n == 1 {
		return "1 member of its set was"
	}
	return text.Count(n, "member") + " of its set were"
}

// checkParent warns if the parent was deleted or replaced. A later run that does not need to write
// the parent would not notice this.
func (r *Run) checkParent(ctx context.Context) {
	if r.DryRun != object.DryRunNone || !r.set.Exists || ctx.Err() != nil {
		return
	}
	live, err := r.Server.Get(ctx, r.set.Kind, r.set.Record.Parent)
	what := "was deleted"
	switch {
	case apierrors.IsNotFound(err):
	case err == nil && live.GetUID() != r.set.Live.GetUID():
		what = "was deleted and created again"
	default:
		return
	}
	r.Emit(event.Warned{Ref: r.set.Record.Parent, Text: what + " during this run, so nothing records where the members of the set are. " +
		"They still have its label: run this again to create the parent and to find the members whose kind and namespace are in the input or the history"})
}

func (r *Run) promise() applyset.Promise {
	refs := make([]object.Ref, len(r.input))
	for i, in := range r.input {
		refs[i] = in.Ref
	}
	return applyset.PromiseOf(refs)
}

// grow adds the kinds and namespaces of the input to the promise. It keeps additions that other
// runs make at the same time.
func (r *Run) grow(ctx context.Context, p *plan.Plan) error {
	for attempts := retry.At(r.set.Record.Parent); ; {
		attempts.OnRead(r.set.Live)
		err := r.growOnce(ctx, p)
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := attempts.Again(ctx); err != nil {
			return err
		}
		if err := r.set.Reload(ctx); err != nil {
			return err
		}
		if err := r.check(p); err != nil {
			return err
		}
	}
}

func (r *Run) growOnce(ctx context.Context, p *plan.Plan) error {
	want := r.set.Record.Promise.Union(r.promise())
	if r.set.Exists && !r.set.Record.IsNew() && r.set.Record.Promise.Equal(want) {
		return nil
	}
	if r.DryRun == object.DryRunClient {
		return nil
	}
	dryRun := r.DryRun == object.DryRunServer
	err := r.set.Write(ctx, want, dryRun)
	if !apierrors.IsNotFound(err) || r.set.Exists || !has(p, namespaceKey(r.Namespace)) {
		return err
	}
	// The parent's namespace is created first, and gets its member label only after the promise is
	// written.
	if dryRun {
		return nil
	}
	if err := r.makeNamespace(ctx); err != nil {
		return err
	}
	return r.set.Write(ctx, want, false)
}

func namespaceKey(name string) object.Key { return object.Key{Kind: "Namespace", Name: name} }

func has(p *plan.Plan, key object.Key) bool {
	for it := range p.Items() {
		if it.Key() == key {
			return true
		}
	}
	return false
}

func (r *Run) makeNamespace(ctx context.Context) error {
	kind, err := r.Server.Kind(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind.GVK)
	u.SetName(r.Namespace)
	_, err = r.Server.Apply(ctx, kind, u, object.Write{Manager: r.Manager})
	if err == nil {
		r.made = namespaceKey(r.Namespace)
	}
	return err
}

// withdraw removes added kinds that the server still does not serve. Such kinds can have no
// members, and every later run would warn about them.
func (r *Run) withdraw(ctx context.Context) {
	if r.DryRun != object.DryRunNone || !r.set.Exists || ctx.Err() != nil {
		return
	}
	p := r.set.Record.Promise
	p.Kinds = slices.DeleteFunc(slices.Clone(p.Kinds), func(gk schema.GroupKind) bool {
		if slices.Contains(r.promised.Kinds, gk) || !slices.Contains(r.upcoming, gk) {
			return false
		}
		_, err := r.Server.Preferred(ctx, gk)
		return store.IsUnserved(err)
	})
	if !p.Equal(r.set.Record.Promise) {
		_ = r.set.Write(ctx, p, false)
	}
}

// remainingPromise returns the promise that the parent needs once the doomed objects are gone.
func (r *Run) remainingPromise(d applyset.Decision) applyset.Promise {
	p := r.promise().Union(d.Left())
	if parent := r.set.Record.Parent; parent.Namespace != "" {
		p = p.Union(applyset.Promise{Namespaces: []string{parent.Namespace}})
	}
	return p
}
