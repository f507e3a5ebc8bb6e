package sets

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// promise covers what the input needs.
func (r *Run) promise() applyset.Promise {
	refs := make([]object.Ref, len(r.input))
	for i, in := range r.input {
		refs[i] = in.Ref
	}
	return applyset.PromiseOf(refs)
}

// grow writes the parent with its previous promise and what the input needs; if the
// parent already promises all of it, it is left as it is. What others promise meanwhile
// stays promised.
func (r *Run) grow(ctx context.Context, p *plan.Plan) error {
	const attempts = 5
	for range attempts - 1 {
		err := r.growOnce(ctx, p)
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := r.set.Reread(ctx); err != nil {
			return err
		}
		if err := r.check(p); err != nil {
			return err
		}
	}
	return r.growOnce(ctx, p)
}

func (r *Run) growOnce(ctx context.Context, p *plan.Plan) error {
	want := r.set.Record.Promise.Union(r.promise())
	if r.set.Exists && !r.set.Record.IsNew() && r.set.Record.Promise.Equal(want) && len(r.Notes) == 0 {
		return nil
	}
	if r.DryRun == object.DryRunClient {
		return nil
	}
	dryRun := r.DryRun == object.DryRunServer
	err := r.set.Write(ctx, want, r.Notes, dryRun)
	if !apierrors.IsNotFound(err) || r.set.Exists || !has(p, namespaceKey(r.Namespace)) {
		return err
	}
	// The parent is to be in a namespace that the set itself brings. The namespace is no
	// member before it is labelled, so the promise comes in time.
	if dryRun {
		return nil
	}
	if err := r.makeNamespace(ctx); err != nil {
		return err
	}
	return r.set.Write(ctx, want, r.Notes, false)
}

func namespaceKey(name string) object.Key { return object.Key{Kind: "Namespace", Name: name} }

func has(p *plan.Plan, key object.Key) bool {
	for _, ph := range p.Phases {
		for _, it := range ph.Items {
			if it.Key() == key {
				return true
			}
		}
	}
	return false
}

// makeNamespace creates the parent's namespace, with nothing but its name.
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

// left returns what the parent has to promise once the doomed objects are gone.
func (r *Run) left(d applyset.Decision) applyset.Promise {
	p := r.promise().Union(d.Left())
	if parent := r.set.Record.Parent; parent.Namespace != "" {
		p = p.Union(applyset.Promise{Namespaces: []string{parent.Namespace}})
	}
	return p
}
