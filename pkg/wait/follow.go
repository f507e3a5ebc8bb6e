package wait

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// follow watches until ctx is done or nothing more can be told. It keeps asking for a kind
// until the server serves it (edge case 45), even one that was served before.
func (e *Engine) follow(ctx context.Context, v *view, tell func(message)) {
	kind, goals, compiled := v.kind, v.goals(), v.compiled // The run changes the view meanwhile.
	pauses := untilServed()
	for {
		if kind.Resource == "" {
			var err error
			if kind, compiled, err = e.serve(ctx, v, goals, tell); err != nil {
				tell(message{view: v, err: err})
				return
			}
			tell(message{view: v, kind: kind, compiled: compiled})
		}
		v.sight.Kind = kind
		err := e.watch(ctx, v, compiled, tell, func(c object.Change) {
			pauses = untilServed()
			tell(message{view: v, change: c})
		})
		if !meta.IsNoMatchError(err) || ctx.Err() != nil {
			tell(message{view: v, err: err})
			return
		}
		tell(message{view: v, gone: true, err: err})
		kind.Resource = ""
		// A kind that discovery lists and lists do not find would be asked for without a
		// pause.
		if err := retry.For(ctx, pauses.Step()); err != nil {
			tell(message{view: v, err: err})
			return
		}
	}
}

// watch watches until ctx is done or nothing more can be told. A schema is published up to
// seconds after its kind is served; where a goal lacks it, the watch runs while
// untilPublished asks for it.
func (e *Engine) watch(ctx context.Context, v *view, compiled map[*Goal]*conditions, tell func(message), change func(object.Change)) error {
	var fault error
	kind := v.sight.Kind
	ctx, end := context.WithCancel(ctx)
	var schema sync.WaitGroup
	if lackSchema(compiled) {
		schema.Go(func() {
			typed, err := e.untilPublished(ctx, kind, slices.Collect(maps.Keys(compiled)))
			switch {
			case err != nil:
				fault = err
				end()
			case typed != nil:
				tell(message{view: v, kind: kind, compiled: typed})
			}
		})
	}
	err := v.sight.Follow(ctx, change)
	end()
	schema.Wait()
	return cmp.Or(fault, err)
}

// untilPublished asks for the schema of a kind until there is one, and compiles the goals
// by it. It returns nil once ctx is done. A server without OpenAPI never has one, so the
// pauses grow.
func (e *Engine) untilPublished(ctx context.Context, kind object.Kind, goals []*Goal) (map[*Goal]*conditions, error) {
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.1, Steps: 100, Cap: 30 * time.Second}
	for retry.For(ctx, pauses.Step()) == nil {
		schema, err := e.Source.Schema(ctx, kind)
		if err != nil || schema == nil {
			continue
		}
		compiled := map[*Goal]*conditions{}
		for _, goal := range goals {
			if compiled[goal], err = compileGoal(kind.GVK, schema, goal); err != nil {
				return nil, err
			}
		}
		return compiled, nil
	}
	return nil, nil
}

func lackSchema(compiled map[*Goal]*conditions) bool {
	for _, c := range compiled {
		if c.untyped {
			return true
		}
	}
	return false
}

// untilServed are the pauses between two times that a kind is looked for.
func untilServed() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.2, Jitter: 0.1, Steps: 100, Cap: 2 * time.Second}
}

// serve asks for the kind of the view until it is served, and compiles its goals.
func (e *Engine) serve(ctx context.Context, v *view, goals []*Goal, tell func(message)) (object.Kind, map[*Goal]*conditions, error) {
	pauses := untilServed()
	for {
		kind, err := e.Source.Resource(ctx, v.typ)
		if err == nil {
			compiled, err := e.compileAll(ctx, kind, goals)
			return kind, compiled, err
		}
		if !meta.IsNoMatchError(err) {
			return kind, nil, err
		}
		tell(message{view: v, gone: true, err: err})
		if err := retry.For(ctx, pauses.Step()); err != nil {
			return kind, nil, err
		}
	}
}
