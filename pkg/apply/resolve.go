package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// resolve settles the kind of each item, waiting for definitions of the set to
// be served, and leaves out items that can not be applied because of what they
// need.
func (e *Engine) resolve(ctx context.Context, items []plan.Item) []plan.Item {
	possible := make([]plan.Item, 0, len(items))
	for _, item := range items {
		if need, action := e.missing(item); action != "" {
			e.skip(item, fmt.Errorf("it needs %s/%s, which was not applied (%s)", need.Kind, need.Name, action))
			continue
		}
		possible = append(possible, item)
	}
	kinds := e.serveAll(ctx, possible)
	ready := possible[:0]
	for _, item := range possible {
		known, asked := kinds[item.GVK]
		if !asked {
			ready = append(ready, item)
			continue
		}
		if errors.Is(known.err, errUnchecked) {
			e.finish(event.Applied{Ref: item.Ref, Source: item.Source, Action: event.Created, Reason: known.err.Error()})
			continue
		}
		resolved, err := item, known.err
		if err == nil {
			resolved, err = item.Resolve(known.kind, e.Scope)
		}
		if err != nil {
			e.fail(ctx, item, err)
			continue
		}
		if resolved.Key() != item.Key() {
			e.alias(resolved.Key(), item.Key())
		}
		ready = append(ready, resolved)
	}
	return ready
}

// served is how the cluster serves a kind, or why it does not.
type served struct {
	kind object.Kind
	err  error
}

// serveAll asks for all kinds of the items that are not known, or known only from
// before this run defined them, side by side: so many of them cost the patience
// for one.
func (e *Engine) serveAll(ctx context.Context, items []plan.Item) map[schema.GroupVersionKind]served {
	var (
		mu    sync.Mutex
		wait  sync.WaitGroup
		kinds = map[schema.GroupVersionKind]served{}
	)
	for _, item := range items {
		if item.Kind.Resource != "" && !e.redefined(item) {
			continue
		}
		mu.Lock()
		_, asked := kinds[item.GVK]
		kinds[item.GVK] = served{}
		mu.Unlock()
		if asked {
			continue
		}
		wait.Go(func() {
			kind, err := e.serve(ctx, item)
			mu.Lock()
			defer mu.Unlock()
			kinds[item.GVK] = served{kind, err}
		})
	}
	wait.Wait()
	return kinds
}

// alias makes what becomes of an object count for the key that the plan knows it
// by: until its kind was known, its namespace was not.
func (e *Engine) alias(key, planned object.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.aliases == nil {
		e.aliases = map[object.Key]object.Key{}
	}
	e.aliases[key] = planned
}

// errUnchecked: the server can not be asked about an object whose kind or
// namespace only this run would create.
var errUnchecked = errors.New("not checked by the server: its kind is defined by this set")

// missing tells what the item needs and this run did not get applied.
func (e *Engine) missing(item plan.Item) (object.Key, event.Action) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, need := range item.Needs {
		switch action := e.actions[need]; action {
		case event.Failed, event.Skipped, event.InConflict:
			return need, action
		default:
		}
	}
	return object.Key{}, ""
}

// created tells whether this run has created something that the item needs.
func (e *Engine) created(item plan.Item) (object.Key, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, need := range item.Needs {
		if e.actions[need] == event.Created {
			return need, true
		}
	}
	return object.Key{}, false
}

// serve waits for the kind of the item to be served where this run can have
// brought it: by a definition, or by a workload that installs its definitions
// itself (edge case 18). Elsewhere it asks once.
func (e *Engine) serve(ctx context.Context, item plan.Item) (object.Kind, error) {
	kind, err := e.Server.Kind(ctx, item.GVK)
	switch {
	case e.DryRun != DryRunNone:
		if _, ok := e.created(item); ok && err != nil {
			err = errUnchecked
		}
		return kind, err
	case !e.redefined(item) && !defined(item) && !e.wroteWorkload():
		return kind, err
	}
	if err != nil {
		e.emit(event.Waiting{Ref: item.Ref, For: item.GVK.Kind + " to be served"})
	}
	// Discovery may name a kind a moment before its objects can be reached; what
	// was waited for is given that moment.
	return e.Server.Served(ctx, item.GVK)
}

// redefined tells whether the kind was known although this run had to create its
// definition: then a cache remembers one that is gone.
func (e *Engine) redefined(item plan.Item) bool {
	if item.Kind.Resource == "" || e.DryRun != DryRunNone {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		return need.Kind == "CustomResourceDefinition" && e.actions[need] == event.Created
	})
}

// defined tells whether the set holds what makes the server serve the item's
// kind.
func defined(item plan.Item) bool {
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		return need.Kind == "CustomResourceDefinition" || need.Kind == "APIService"
	})
}

// wroteWorkload tells whether this run created or changed anything that runs.
func (e *Engine) wroteWorkload() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, action := range e.actions {
		if action != event.Created && action != event.Configured {
			continue
		}
		switch key.Group {
		case "apps", "batch":
			return true
		case "":
			if key.Kind == "Pod" || key.Kind == "ReplicationController" {
				return true
			}
		}
	}
	return false
}
