package input

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
)

// Plan is like Order, but for verbs that write fields: it waits for kinds whose CRDs were just
// applied. The check may refuse the plan.
func (o *Options) Plan(
	ctx context.Context, c *connection.Connection, client *client.Client, check func(*plan.Plan) error, emit func(event.Event),
) (*plan.Plan, error) {
	p, err := o.arrange(c, emit, func() (*plan.Plan, error) { return o.served(ctx, client, emit) })
	if err == nil {
		err = check(p)
	}
	if err != nil {
		o.prefetched.close()
		return nil, err
	}
	return p, nil
}

// served plans with the kinds that the server serves. The manifests are planned a second time only
// if the cached kinds were outdated, or if the run had to wait for a kind.
func (o *Options) served(ctx context.Context, client *client.Client, emit func(event.Event)) (*plan.Plan, error) {
	if o.Prefetch {
		var err error
		if o.prefetched, err = startPrefetch(ctx, client, o.Manifests, o.Scope); err != nil {
			return nil, err
		}
	}
	known, err := kinds(ctx, client, o.Manifests)
	o.prefetched = o.prefetched.confirm(known)
	if err != nil {
		return nil, err
	}
	var p *plan.Plan
	if o.prefetched != nil {
		o.Scope.Kinds, p = known, o.prefetched.plan
	} else if p, err = o.build(known); err != nil {
		return nil, err
	}
	missing := unexplained(p)
	if len(missing) == 0 {
		return p, nil
	}
	came, err := upcoming(ctx, client, missing, emit)
	if err != nil || len(came) == 0 {
		return p, err
	}
	maps.Copy(known, came)
	return o.build(known)
}

// build plans the manifests with the given kinds.
func (o *Options) build(kinds map[schema.GroupVersionKind]object.Kind) (*plan.Plan, error) {
	o.Scope.Kinds = kinds
	p, err := plan.Build(o.Manifests, o.Scope)
	if _, circle := errors.AsType[*plan.CycleError](err); err != nil && !circle {
		broken := errBroken
		if len(verb.Flatten(err)) >= len(o.Manifests) {
			broken = errAllBroken
		}
		err = errors.Join(err, broken)
	}
	return p, err
}

// Types returns a reader for the schemas of the plan's kinds. The caller must call done at the end;
// done also closes the reader that Prefetched returns.
func (o *Options) Types(ctx context.Context, client *client.Client, p *plan.Plan) (of func(object.Kind) openapi.Type, done func()) {
	if o.prefetched != nil {
		return o.prefetched.schemas.of, o.prefetched.close
	}
	s := readSchemas(ctx, client, p)
	return s.of, s.end
}

// Prefetched returns the reader of the plan's objects; nil if there is none.
func (o *Options) Prefetched() *prefetch.Reader {
	if o.prefetched == nil {
		return nil
	}
	return o.prefetched.reader
}

// Beside returns a function that returns the objects that -l excluded. If a kind cannot be found,
// its objects lack the short names of the kind.
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

// Order reads the kinds of the manifests from the cluster and orders the manifests.
func (o *Options) Order(ctx context.Context, c *connection.Connection, client *client.Client, emit func(event.Event)) (*plan.Plan, error) {
	return o.Arrange(c, emit, func() (map[schema.GroupVersionKind]object.Kind, error) { return kinds(ctx, client, o.Manifests) })
}

// Arrange orders the manifests, using the kinds returned by the callback (kinds).
func (o *Options) Arrange(
	c *connection.Connection, emit func(event.Event), kinds func() (map[schema.GroupVersionKind]object.Kind, error),
) (*plan.Plan, error) {
	return o.arrange(c, emit, func() (*plan.Plan, error) {
		known, err := kinds()
		if err != nil {
			return nil, err
		}
		return o.build(known)
	})
}

func (o *Options) arrange(c *connection.Connection, emit func(event.Event), build func() (*plan.Plan, error)) (*plan.Plan, error) {
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
	p, err := build()
	if err != nil {
		return nil, err
	}
	o.Manifests = nil
	o.invalid = append(o.invalid, p.Invalid...)
	for _, fault := range o.invalid {
		emit(event.LeftOut{Err: fault})
	}
	for _, w := range p.Warnings {
		emit(event.Warned{Ref: w.Ref, Text: w.Text, Detail: w.Detail})
	}
	return p, nil
}

// unexplained returns the unserved kinds that no manifest in the plan can install.
func unexplained(p *plan.Plan) []schema.GroupVersionKind {
	missing := map[schema.GroupVersionKind]bool{}
	for it := range p.Items() {
		if it.Kind.Resource == "" && len(it.Bringers)+len(it.OnlyIn) == 0 && !object.IsBuiltIn(it.GVK.Group) {
			missing[it.GVK] = true
		}
	}
	return slices.Collect(maps.Keys(missing))
}

// upcoming waits for kinds that are defined but not served yet, and returns those that are served
// now.
func upcoming(
	ctx context.Context, client *client.Client, missing []schema.GroupVersionKind, emit func(event.Event),
) (map[schema.GroupVersionKind]object.Kind, error) {
	return askAll(ctx, missing, func(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
		return client.Upcoming(ctx, gvk, func(definition string) {
			emit(event.Waiting{Kind: gvk.Kind, For: gvk.Kind + " to be served; customresourcedefinition/" + definition + " defines it"})
		})
	})
}

// kinds returns the kinds of the manifests. It omits unserved kinds, because the manifests may
// define them.
func kinds(ctx context.Context, client *client.Client, manifests []object.Manifest) (map[schema.GroupVersionKind]object.Kind, error) {
	intended := map[schema.GroupVersionKind]bool{}
	for _, m := range manifests {
		intended[m.Ref().GVK] = true
	}
	return askAll(ctx, slices.Collect(maps.Keys(intended)), client.KindOnce(ctx))
}

// askAll calls the callback (ask) concurrently for each kind, and returns the kinds. It omits kinds
// that are not served, or whose server does not answer. Any other error cancels all remaining
// requests.
func askAll(
	ctx context.Context, gvks []schema.GroupVersionKind, ask func(context.Context, schema.GroupVersionKind) (object.Kind, error),
) (map[schema.GroupVersionKind]object.Kind, error) {
	var (
		mu    sync.Mutex
		known = map[schema.GroupVersionKind]object.Kind{}
	)
	group, ctx := errgroup.WithContext(ctx)
	for _, gvk := range gvks {
		group.Go(func() error {
			kind, err := ask(ctx, gvk)
			if unserved(err) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			known[gvk] = kind
			return err
		})
	}
	return known, group.Wait()
}

// unserved reports whether an error means that a kind is not served, or that the server behind it
// does not answer.
func unserved(err error) bool {
	return errors.As(err, new(*client.NoKindError)) || errors.As(err, new(*client.KindUnknownError))
}

// InServedVersions replaces unserved versions with served ones, so that an old file still
// identifies what to delete.
func (o *Options) InServedVersions(ctx context.Context, client *client.Client, p *plan.Plan, emit func(event.Event)) error {
	known := map[object.Key]bool{}
	unserved := false
	for it := range p.Items() {
		known[it.Key()] = true
		unserved = unserved || it.Kind.Resource == ""
	}
	if !unserved {
		return nil
	}
	served := map[schema.GroupVersionKind]object.Kind{}
	for i, ph := range p.Phases {
		var items []plan.Item
		for _, it := range ph.Items {
			if it.Kind.Resource != "" {
				items = append(items, it)
				continue
			}
			kind, asked := served[it.GVK]
			if !asked {
				kind = servedKind(ctx, client, it.GVK, emit)
				served[it.GVK] = kind
			}
			found, err := in(kind, it, o.Scope)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				return err
			case found.Key() != it.Key() && known[found.Key()]: // The input contains both versions.
				continue
			}
			known[found.Key()] = true
			items = append(items, found)
		}
		p.Phases[i].Items = items
	}
	return nil
}

// in returns the item at the version of the given kind. If that kind has no Resource, no version is
// served, and the item is returned unchanged.
func in(kind object.Kind, it plan.Item, scope plan.Options) (plan.Item, error) {
	if kind.Resource == "" {
		return it, nil
	}
	found, err := it.Resolve(kind, scope)
	found.GVK = kind.GVK
	return found, err
}

// servedKind returns the kind at a served version; its Resource is empty if there is none.
func servedKind(ctx context.Context, c *client.Client, gvk schema.GroupVersionKind, emit func(event.Event)) object.Kind {
	_, err := c.Kind(ctx, gvk)
	if missing, ok := errors.AsType[*client.NoKindError](err); !ok || missing.Err != nil {
		return object.Kind{}
	}
	elsewhere, err := c.Elsewhere(ctx, gvk)
	if err != nil || len(elsewhere) == 0 {
		return object.Kind{}
	}
	kind, err := c.Kind(ctx, elsewhere[0].WithKind(gvk.Kind))
	if err != nil {
		return object.Kind{}
	}
	emit(event.Warned{Text: fmt.Sprintf("%s is no longer served at %s: its objects are deleted through %s",
		gvk.Kind, gvk.GroupVersion(), kind.GVK.GroupVersion())})
	return kind
}
