package input

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/local"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
)

// Plan is Order for verbs that write fields, or say what a write would do: they wait for
// kinds whose definitions were applied just now. A choice that matches no object of the
// plan is an error.
func (o *Options) Plan(
	ctx context.Context, c *connection.Connection, client *client.Client, predictor predict.Predictor, emit func(event.Event),
) (*plan.Plan, error) {
	p, err := o.Arrange(c, emit, func() (map[schema.GroupVersionKind]object.Kind, error) {
		if o.Prefetch {
			var err error
			if o.prefetched, err = startPrefetch(ctx, client, o.Manifests, o.Scope); err != nil {
				return nil, err
			}
		}
		known, err := kinds(ctx, client, o.Manifests)
		o.prefetched = o.prefetched.confirm(known)
		if err == nil {
			err = upcoming(ctx, client, unexplained(o.Manifests, o.Scope, known), known, emit)
		}
		return known, err
	})
	if err == nil {
		err = Check(p, predictor, emit)
	}
	if err != nil {
		o.prefetched.close()
		return nil, err
	}
	return p, nil
}

// Types gives a predictor what knows the types of the plan's kinds, and what reads their
// schemas. done has to be called in the end; it ends what Prefetched returns as well.
func (o *Options) Types(ctx context.Context, client *client.Client, p *plan.Plan, to *predict.Predictor) (done func()) {
	to.Known = new(local.Types).Of
	if o.prefetched != nil {
		to.Schema = o.prefetched.schemas.of
		return o.prefetched.close
	}
	s := readSchemas(ctx, client, p)
	to.Schema = s.of
	return s.end
}

// Prefetched returns what has begun to read the objects of the plan; nil if nothing has.
func (o *Options) Prefetched() *prefetch.Reader {
	if o.prefetched == nil {
		return nil
	}
	return o.prefetched.reader
}

// Beside looks up the objects of the input that -l left out, as far as their names and kinds go:
// for what speaks of the input as a whole. A kind that cannot be learned has no short names.
func (o *Options) Beside(ctx context.Context, client *client.Client) func() []plan.Item {
	return func() []plan.Item { return o.beside(ctx, client) }
}

func (o *Options) beside(ctx context.Context, client *client.Client) []plan.Item {
	items := make([]plan.Item, 0, len(o.unselected))
	known := map[schema.GroupVersionKind]object.Kind{}
	for _, ref := range o.unselected {
		kind, asked := known[ref.GVK]
		if !asked {
			var err error
			if kind, err = client.Kind(ctx, ref.GVK); err != nil {
				kind = object.Kind{GVK: ref.GVK}
			}
			known[ref.GVK] = kind
		}
		if kind.Namespaced && ref.Namespace == "" {
			ref.Namespace = o.Scope.Namespace
		}
		items = append(items, plan.Item{Ref: ref, Kind: kind})
	}
	return items
}

// Order asks the cluster for the kinds of the manifests and puts them in order.
func (o *Options) Order(ctx context.Context, c *connection.Connection, client *client.Client, emit func(event.Event)) (*plan.Plan, error) {
	return o.Arrange(c, emit, func() (map[schema.GroupVersionKind]object.Kind, error) { return kinds(ctx, client, o.Manifests) })
}

// Arrange orders the manifests by what kinds returns for theirs.
func (o *Options) Arrange(
	c *connection.Connection, emit func(event.Event), kinds func() (map[schema.GroupVersionKind]object.Kind, error),
) (*plan.Plan, error) {
	for _, w := range o.warnings {
		emit(event.Warned{Ref: w.Ref, Text: w.Text, Detail: " (" + w.Source.String() + ")"})
	}
	if len(o.hooks) > 0 {
		emit(hooksLeftOut(o.hooks))
	}
	var err error
	if o.Scope.Namespace, o.Scope.Enforced, err = c.Namespace(); err != nil {
		return nil, err
	}
	if o.Scope.Kinds, err = kinds(); err != nil {
		return nil, err
	}
	p, err := plan.Build(o.Manifests, o.Scope)
	if _, circle := errors.AsType[*plan.CycleError](err); err != nil && !circle {
		err = errors.Join(err, errBroken)
	}
	if err != nil {
		return nil, err
	}
	o.Manifests = nil // The plan has them now.
	o.invalid = append(o.invalid, p.Invalid...)
	for _, fault := range o.invalid {
		emit(event.LeftOut{Err: fault})
	}
	for _, w := range p.Warnings {
		emit(event.Warned{Ref: w.Ref, Text: w.Text, Detail: w.Detail})
	}
	return p, nil
}
