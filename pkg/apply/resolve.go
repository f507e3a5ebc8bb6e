package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// resolve finds the kind of each item, and waits for CRDs in the set. It drops items whose
// prerequisites failed.
func (e *Engine) resolve(ctx context.Context, items []plan.Item) []*plan.Item {
	possible := make([]*plan.Item, 0, len(items))
	for i := range items {
		item := &items[i]
		if need, action := e.done.missing(*item); action != "" {
			e.skip(*item, fmt.Errorf("it needs %s, which was not applied (%s)", need.Ref(), action))
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
			e.finish(event.Applied{Ref: item.Ref, Source: item.Source, Action: event.Created, Reason: e.unchecked(*item)})
			continue
		}
		resolved, err := *item, known.err
		if err == nil {
			resolved, err = resolved.Resolve(known.kind, e.Scope)
		}
		if err != nil {
			e.fail(ctx, resolved, err)
			continue
		}
		if resolved.Key() != item.Key() {
			e.done.alias(resolved.Key(), item.Key())
		}
		ready = append(ready, &resolved)
	}
	return ready
}

type served struct {
	kind object.Kind
	err  error
}

// serveAll resolves unknown kinds, and kinds whose CRD this run has replaced.
func (e *Engine) serveAll(ctx context.Context, items []*plan.Item) map[schema.GroupVersionKind]served {
	var (
		mu    sync.Mutex
		wait  sync.WaitGroup
		kinds = map[schema.GroupVersionKind]served{}
	)
	for _, item := range items {
		// If this run created the CRD of a kind that is already known, the cached kind describes an
		// earlier CRD.
		if item.Kind.Resource != "" && (e.DryRun != object.DryRunNone || !e.changedCRD(*item, event.Created)) {
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
			kind, err := e.serve(ctx, *item)
			mu.Lock()
			defer mu.Unlock()
			kinds[item.GVK] = served{kind, err}
		})
	}
	wait.Wait()
	return kinds
}

// serve waits for the item's kind if an object of the set may install it: a CRD, an APIService, or
// an operator (edge case 18). If AwaitKinds is set, it also waits for other kinds that are not
// built in.
func (e *Engine) serve(ctx context.Context, item plan.Item) (object.Kind, error) {
	if definition, defined := e.definition(item); defined && e.DryRun == object.DryRunNone {
		return e.defined(ctx, item, definition)
	}
	kind, err := e.Server.Kind(ctx, item.GVK)
	if e.DryRun != object.DryRunNone {
		if err != nil && e.done.created(item) {
			return kind, errUnchecked
		}
		return kind, e.unserved(ctx, item, err, 0)
	}
	bringer, brought := e.awaited(item)
	switch {
	case err == nil:
		return kind, nil
	case brought:
		e.emit(event.Waiting{Ref: item.Ref, Kind: item.GVK.Kind, For: item.GVK.Kind + " to be served; " + describe(bringer) + " may install it"})
	case e.AwaitKinds > 0 && !object.IsBuiltIn(item.GVK.Group):
		e.emit(event.Waiting{Ref: item.Ref, Kind: item.GVK.Kind, For: item.GVK.Kind + " to be served"})
	default:
		return kind, e.unserved(ctx, item, err, 0)
	}
	began := time.Now()
	kind, err = e.Server.Served(ctx, item.GVK, e.AwaitKinds)
	return kind, e.unserved(ctx, item, err, time.Since(began))
}

// defined waits until the CRD is established and the kind is served, which may happen in either
// order.
func (e *Engine) defined(ctx context.Context, item plan.Item, definition object.Key) (object.Kind, error) {
	if item.Kind.Resource != "" { // Discovery may list the old CRD until the new one is established.
		if err := e.Server.Established(ctx, definition.Name); err != nil {
			return item.Kind, err
		}
		kind, err := e.Server.Served(ctx, item.GVK, 0)
		return kind, e.unserved(ctx, item, err, 0)
	}
	e.emit(event.Waiting{Ref: item.Ref, Kind: item.GVK.Kind, For: describe(definition) + " to be established"})
	var refusal error
	unrefused, refuse := context.WithCancel(ctx)
	defer refuse()
	var asked sync.WaitGroup
	asked.Go(func() {
		if refusal = e.Server.Established(ctx, definition.Name); refusal != nil {
			refuse()
		}
	})
	kind, err := e.Server.Served(unrefused, item.GVK, 0)
	asked.Wait()
	if refusal != nil {
		return kind, refusal
	}
	return kind, e.unserved(ctx, item, err, 0)
}

func (e *Engine) unserved(ctx context.Context, item plan.Item, err error, waited time.Duration) error {
	if !meta.IsNoMatchError(err) || errors.Unwrap(err) != nil {
		return err // The error already has a reason.
	}
	if len(item.OnlyIn) > 0 {
		// The kind is not served because the CRD in the set lacks the item's version. Only that CRD
		// shows this.
		return object.Hinted("change apiVersion to "+item.GVK.Group+"/"+item.OnlyIn[0],
			"the CRD of %s in this set has no version %s, only %s", item.GVK.Kind, item.GVK.Version, strings.Join(item.OnlyIn, ", "))
	}
	err = e.Server.Unserved(ctx, item.GVK)
	switch {
	case !meta.IsNoMatchError(err), errors.Unwrap(err) != nil:
		return err
	case object.IsBuiltIn(item.GVK.Group), e.DryRun != object.DryRunNone, similar(err) != "":
		return err
	}
	if waited = waited.Round(time.Second); e.AwaitKinds > 0 && waited > 0 {
		return object.Hinted("is the program that installs "+item.GVK.Kind+" running? See: "+command.Kubectl("get")+" crd",
			"%s, even after waiting %s (--await-kinds)", err, waited)
	}
	if bringer, ok := e.bringer(item); ok {
		return object.Hinted("wait longer with --await-kinds=5m, or apply again once the kind is served",
			"%s: %s in this set may install it, but has not done so yet", err, describe(bringer))
	}
	return err
}

// definition returns the CRD that this run applied for the item's kind.
func (e *Engine) definition(item plan.Item) (object.Key, bool) {
	for _, need := range item.Needs {
		if need.Kind != definitionKind {
			continue
		}
		remembered := item.Kind.Resource != "" && e.done.action(need) == event.Created
		if remembered || slices.Contains(item.Bringers, need) {
			return need, true
		}
	}
	return object.Key{}, false
}

func (e *Engine) bringer(item plan.Item) (object.Key, bool) {
	for _, key := range item.Bringers {
		if e.done.exists(key) {
			return key, true
		}
	}
	return object.Key{}, false
}

// awaited returns the object of the set that the run has just written, and that may install the
// item's kind. An operator that an earlier run has started and that has not installed the kind
// since would make each further run wait in vain.
func (e *Engine) awaited(item plan.Item) (object.Key, bool) {
	for _, key := range item.Bringers {
		running := key.Kind != definitionKind && key.Kind != "APIService" && e.done.action(key) == event.Unchanged
		if e.done.exists(key) && (!running || e.AwaitKinds > 0) {
			return key, true
		}
	}
	return object.Key{}, false
}

const definitionKind = "CustomResourceDefinition"

var errUnchecked = errors.New("not checked by the server")

func (e *Engine) unchecked(item plan.Item) string {
	for _, need := range item.Needs {
		if e.done.action(need) == event.Created {
			return "not checked by the server: " + describe(need) + " is created by this set"
		}
	}
	return errUnchecked.Error()
}

func describe(key object.Key) string { return key.Ref().String() }

// similar returns the similar kind that err suggests; "" if there is none.
func similar(err error) string {
	var near interface{ Similar() string }
	if errors.As(err, &near) {
		return near.Similar()
	}
	return ""
}
