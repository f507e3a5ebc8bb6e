package apply

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// resolve settles the kind of each item, waiting for definitions of the set to
// be served, and leaves out items that can not be applied because of what they
// need.
func (e *Engine) resolve(ctx context.Context, items []plan.Item) []plan.Item {
	kinds := map[schema.GroupVersionKind]result[object.Kind]{}
	ready := make([]plan.Item, 0, len(items))
	for _, item := range items {
		if need, action := e.missing(item); action != "" {
			e.skip(item, fmt.Errorf("it needs %s/%s, which was not applied (%s)", need.Kind, need.Name, action))
			continue
		}
		if item.Kind.Resource == "" {
			known, ok := kinds[item.GVK]
			if !ok {
				known.value, known.err = e.serve(ctx, item)
				kinds[item.GVK] = known
			}
			if errors.Is(known.err, errUnchecked) {
				e.finish(event.Applied{Ref: item.Ref, Source: item.Source, Action: event.Created, Reason: known.err.Error()})
				continue
			}
			if known.err != nil {
				e.fail(ctx, item, known.err)
				continue
			}
			resolved, err := item.Resolve(known.value, e.Scope)
			if err != nil {
				e.fail(ctx, item, err)
				continue
			}
			if resolved.Key() != item.Key() {
				e.alias(resolved.Key(), item.Key())
			}
			item = resolved
		}
		ready = append(ready, item)
	}
	return ready
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

// result is a value or the error instead of it.
type result[T any] struct {
	value T
	err   error
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
	if err == nil {
		return kind, nil
	}
	_, defined := e.created(item)
	switch {
	case e.DryRun != DryRunNone && defined:
		return object.Kind{}, errUnchecked
	case e.DryRun != DryRunNone:
		return object.Kind{}, err
	case defined || len(item.Needs) > 0 || e.wroteWorkload():
		e.emit(event.Waiting{Ref: item.Ref, For: item.GVK.Kind + " to be served"})
		return e.Server.Served(ctx, item.GVK)
	default:
		return object.Kind{}, err
	}
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
