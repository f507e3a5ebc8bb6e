package discovery

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Resource finds the kind that a TYPE means to kubectl: deploy, deployments, Deployment,
// deployments.apps, deployments.v1.apps. If several groups have it, the server's first
// one counts, in the version that the server prefers. The error is a *NoTypeError if the
// server serves none; a later call asks again.
func (d *Discovery) Resource(ctx context.Context, text string) (object.Kind, error) {
	var gvk schema.GroupVersionKind
	err := d.search(ctx, text, func(t catalogue) (err error) {
		gvk, err = t.kindOf(ctx, text)
		return err
	})
	if err != nil {
		return object.Kind{}, err
	}
	return d.kindOfType(ctx, text, gvk)
}

// Preferred says how the server serves a kind in the version that it prefers. The error
// is a *NoTypeError if it serves the kind in no version.
func (d *Discovery) Preferred(ctx context.Context, gk schema.GroupKind) (object.Kind, error) {
	var gvk schema.GroupVersionKind
	untold := false
	err := d.search(ctx, gk.String(), func(t catalogue) error {
		untold = t.untold(gk.Group)
		mapping, err := t.mapper.RESTMappingWithContext(ctx, gk)
		if err == nil {
			gvk = mapping.GroupVersionKind
		}
		return err
	})
	if none, ok := errors.AsType[*NoTypeError](err); ok && !untold {
		none.Err = nil // That another group's server does not answer casts no doubt on this one.
	}
	if err != nil {
		return object.Kind{}, err
	}
	return d.kindOfType(ctx, gk.String(), gvk)
}

// Resources is Resource for a TYPE that may also be a category, such as all: the
// kinds that are in it.
func (d *Discovery) Resources(ctx context.Context, text string) ([]object.Kind, error) {
	var gvks []schema.GroupVersionKind
	err := d.search(ctx, text, func(t catalogue) error {
		gvks = gvks[:0]
		members, _ := restmapper.NewDiscoveryCategoryExpanderWithContext(t.view).ExpandWithContext(ctx, text)
		for _, member := range members {
			gvk, err := t.mapper.KindForWithContext(ctx, member.WithVersion(""))
			if err != nil {
				return err
			}
			gvks = append(gvks, gvk)
		}
		if len(members) > 0 {
			return nil
		}
		gvk, err := t.kindOf(ctx, text)
		gvks = append(gvks, gvk)
		return err
	})
	if err != nil {
		return nil, err
	}
	kinds := make([]object.Kind, len(gvks))
	for i, gvk := range gvks {
		if kinds[i], err = d.kindOfType(ctx, text, gvk); err != nil {
			return nil, err
		}
	}
	return kinds, nil
}

// kindOfType makes sure of a kind that the cache has.
func (d *Discovery) kindOfType(ctx context.Context, text string, gvk schema.GroupVersionKind) (object.Kind, error) {
	kind, err := d.Kind(ctx, gvk)
	if missing, ok := errors.AsType[*NoKindError](err); ok {
		return kind, &NoTypeError{Type: text, Err: missing.Err}
	}
	if untold, ok := errors.AsType[*UntoldKindError](err); ok {
		return kind, &NoTypeError{Type: text, Err: untold}
	}
	return kind, err
}

// TypeNames returns the names under which kubectl lists the server's types that can be
// read: deployments.apps, pods. A shell completes a TYPE from them.
func (d *Discovery) TypeNames(ctx context.Context) ([]string, error) {
	var names []string
	err := d.search(ctx, "", func(t catalogue) error {
		names = t.names(func(gr schema.GroupResource, _ metav1.APIResource) []string { return []string{gr.String()} })
		return nil
	})
	return names, err
}
