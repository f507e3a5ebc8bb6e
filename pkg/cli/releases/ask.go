package releases

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/nextapply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

const atOnce = 8

// ask asks the server, by dry runs, about the objects in which an apply could conflict, and about
// those whose manifest changes or that would be created.
func (r *reader) ask(ctx context.Context, all []*release) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, one := range all {
		created := one.createsNamespaces()
		for _, p := range one.pieces {
			switch {
			case p.unread != nil, p.live == nil && created[p.Ref.Namespace]:
			case p.live != nil && !one.changes(p) && one.attempts[p.Ref.Key()] == nil && !concerns(p.Declared, p.live, one.out.Manager):
			default:
				group.Go(func() error {
					r.dryRun(ctx, one, p)
					return nil
				})
			}
		}
	}
	_ = group.Wait()
}

// createsNamespaces returns the namespaces that the upgrade creates.
func (r *release) createsNamespaces() map[string]bool {
	names := map[string]bool{}
	for _, p := range r.pieces {
		if p.live == nil && p.Ref.GVK.Group == "" && p.Ref.GVK.Kind == "Namespace" {
			names[p.Ref.Name] = true
		}
	}
	return names
}

func (r *reader) dryRun(ctx context.Context, of *release, p *piece) {
	apply := nextapply.Apply{Kind: p.Kind, Declared: p.Declared, Live: p.live, Manager: of.out.Manager, Validation: metav1.FieldValidationStrict}
	// A client-side release gets a server-side dry run too, because a later upgrade may change to it.
	next := nextapply.Ask(ctx, r.server, apply)
	if p.conflicts = next.Conflicts; len(p.conflicts) == 0 {
		p.unread = next.Unknown
	}
	switch {
	case of.out.ServerSide:
		p.refused = next.Refused
	case !apierrors.IsInvalid(next.Refused):
		p.refusedServerSide = next.Refused
	}
	if !of.out.ServerSide && p.unread == nil {
		after, err := r.patch(ctx, of, p)
		switch {
		case err == nil:
			p.after = after
		case nextapply.IsRefusal(err):
			p.refused = err
		default:
			p.unread = err
		}
	}
	// Helm sends stringData, whose values no manager owns. The server reports no conflict over them.
	if stored := predict.WithoutStringData(p.Declared); stored != p.Declared && p.live != nil && p.unread == nil {
		apply.Declared = stored
		p.unprotected = slices.DeleteFunc(nextapply.Ask(ctx, r.server, apply).Conflicts, func(c managedfields.Conflict) bool {
			_, sent := c.Path.Get(p.Declared.Object)
			return sent
		})
	}
}

// concerns reports whether an apply of the declared object can conflict with a field of another owner, or
// changes a value, without asking the server. It compares a path only as far as its names go: a list item can be
// declared with fewer key fields.
func concerns(declared, live *unstructured.Unstructured, manager string) bool {
	entries, err := managedfields.Entries(live)
	if err != nil || len(entries) == 0 {
		return true
	}
	for _, e := range managedfields.Others(entries, manager) {
		if e.APIVersion != declared.GetAPIVersion() && e.Subresource == "" || redact.IsSecret(object.RefOf(declared)) {
			return true
		}
		found := false
		fieldpath.Each(e.Fields.Leaves(), func(p fieldpath.Path) { found = found || declares(declared.Object, p) })
		if found {
			return true
		}
	}
	return slices.ContainsFunc(entries, func(e managedfields.Entry) bool { return e.Manager == manager && differs(declared, live, e.Fields) })
}

// differs reports whether a field has another value in the live object. The server may refuse to change
// it back.
func differs(declared, live *unstructured.Unstructured, fields *fieldpath.Set) bool {
	found := false
	fieldpath.Each(fields.Leaves(), func(p fieldpath.Path) {
		intended, has := p.Get(declared.Object)
		value, exists := p.Get(live.Object)
		found = found || has && exists && !fieldpath.Equal(intended, value)
	})
	return found
}

func declares(value any, p fieldpath.Path) bool {
	for _, pe := range p {
		if pe.FieldName == nil {
			return true
		}
		fields, isMap := value.(map[string]any)
		if !isMap {
			return true
		}
		var has bool
		if value, has = fields[*pe.FieldName]; !has {
			return false
		}
	}
	return true
}
