package input

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// glanced is what was begun while the manifests are decoded, by a glance at them.
type glanced struct {
	cancel context.CancelFunc
	done   chan struct{}
	early  *early // nil if nothing was begun
	err    error
}

// glance has the objects read that the manifests will probably turn out to be, while they are
// decoded: not with -l, where most of an input may not be meant, and not where the cluster has
// to be recognised first. That there is no connection is not the question yet.
func (o *Options) glance(ctx context.Context, c *connection.Connection) {
	if o.Early == nil || o.Files.Selector != "" || c.Recognises() {
		return
	}
	scope := o.Scope
	scope.SkipInvalid = true
	o.Files.Glance = func(manifests []object.Manifest) {
		client, err := o.Early()
		if err != nil {
			return
		}
		if scope.Namespace, scope.Enforced, err = c.Namespace(); err != nil {
			return
		}
		under, cancel := context.WithCancel(ctx)
		g := &glanced{cancel: cancel, done: make(chan struct{})}
		o.glanced = g
		go func() {
			defer close(g.done)
			if g.early, g.err = beginAtAGlance(under, client, manifests, scope); g.early != nil {
				g.early.cancel = cancel
			} else {
				cancel()
			}
		}()
	}
}

// beginAtAGlance begins to read at once, and asks where the schemas are if only they show the
// types of a kind: then a large set nearly always needs one.
func beginAtAGlance(ctx context.Context, client *cluster.Client, manifests []object.Manifest, scope plan.Options) (*early, error) {
	var err error
	if scope.Kinds, _, err = remembered(ctx, client, manifests); err != nil {
		return nil, err
	}
	e, p := begin(ctx, client, manifests, scope, nil)
	if e != nil && len(p.Phases) > 1 && len(untold(p)) > 0 {
		e.schemas = schemasAhead(ctx, client)
	}
	return e, nil
}

// result returns what was begun; nil for nothing. The error says that the server did not say
// what it serves: it would not, a second time.
func (g *glanced) result() (*early, error) {
	if g == nil {
		return nil, nil
	}
	<-g.done
	return g.early, g.err
}

// close ends what was begun. What follows on it has to be closed before.
func (g *glanced) close() {
	if g == nil {
		return
	}
	g.cancel()
	e, _ := g.result()
	e.close()
}
