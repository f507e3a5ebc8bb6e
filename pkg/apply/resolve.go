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

// resolve settles the kind of each item, waiting for definitions of the set to
// be served, and leaves out items that cannot be applied because of what they
// need.
func (e *Engine) resolve(ctx context.Context, items []plan.Item) []plan.Item {
	possible := make([]plan.Item, 0, len(items))
	for _, item := range items {
		if need, action := e.missing(item); action != "" {
			e.skip(item, fmt.Errorf("it needs %s, which was not applied (%s)", need.Ref(), action))
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

// errUnchecked: the server cannot be asked about an object whose kind or
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

// created reports whether this run has created something that the item needs.
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
// brought it: by a definition, by an aggregated API, or by an operator that installs
// its definitions itself (edge case 18); and where the user says that somebody will.
// Elsewhere it asks once.
func (e *Engine) serve(ctx context.Context, item plan.Item) (object.Kind, error) {
	kind, err := e.Server.Kind(ctx, item.GVK)
	if e.DryRun != object.DryRunNone {
		if _, ok := e.created(item); ok && err != nil {
			return kind, errUnchecked
		}
		return kind, e.unserved(ctx, item, err)
	}
	definition, defined := e.definition(item)
	bringer, brought := e.bringer(item)
	within := e.AwaitKinds
	switch {
	case defined:
		if err != nil {
			e.emit(event.Waiting{Ref: item.Ref, For: describe(definition) + " to be established"})
		}
		if err := e.Server.Established(ctx, definition.Name); err != nil {
			return kind, err
		}
		// Discovery may name a kind a moment before its objects can be reached; what
		// was waited for is given that moment.
		within = 0
	case err == nil:
		return kind, nil
	case brought:
		e.emit(event.Waiting{Ref: item.Ref, For: item.GVK.Kind + " to be served, which " + describe(bringer) + " may install"})
	case e.AwaitKinds > 0 && !plan.Builtin(item.GVK.Group):
		e.emit(event.Waiting{Ref: item.Ref, For: item.GVK.Kind + " to be served"})
	default:
		return kind, e.unserved(ctx, item, err)
	}
	kind, err = e.Server.Served(ctx, item.GVK, within)
	return kind, e.unserved(ctx, item, err)
}

// unserved adds to the error that a kind is not served why that is, and what can be
// done.
func (e *Engine) unserved(ctx context.Context, item plan.Item, err error) error {
	if !meta.IsNoMatchError(err) || errors.Unwrap(err) != nil {
		return err // It says more than that there is no such kind.
	}
	err = e.Server.Unserved(ctx, item.GVK)
	switch {
	case !meta.IsNoMatchError(err), errors.Unwrap(err) != nil:
		return err
	case len(item.OnlyIn) > 0:
		return &otherVersionError{gvk: item.GVK, versions: item.OnlyIn}
	case plan.Builtin(item.GVK.Group), e.DryRun != object.DryRunNone, meant(err) != "":
		return err
	}
	out := &unservedError{err: err, kind: item.GVK.Kind, waited: e.AwaitKinds}
	if bringer, ok := e.bringer(item); ok {
		out.bringer = describe(bringer)
	}
	return out
}

// meant returns the kind that was probably meant by one that is not served; empty where
// the cluster has none like it.
func meant(err error) string {
	var near interface{ Meant() string }
	if errors.As(err, &near) {
		return near.Meant()
	}
	return ""
}

// unservedError says that the cluster does not serve a kind that something may still
// bring.
type unservedError struct {
	err     error
	kind    string
	bringer string        // what of the set was to bring it; may be empty
	waited  time.Duration // as the user said; 0 if nothing was said
}

func (e *unservedError) Error() string {
	switch {
	case e.waited > 0:
		return fmt.Sprintf("%v, after %s of --await-kinds", e.err, e.waited)
	case e.bringer != "":
		return fmt.Sprintf("%v: %s of this set may install it, and has not yet", e.err, e.bringer)
	default:
		return e.err.Error()
	}
}

// Hint says how to wait for the kind. It stands in the place of what the error below
// would advise, which is why that is not unwrapped.
func (e *unservedError) Hint() string {
	switch {
	case e.waited > 0:
		return "is the program that installs " + e.kind + " running? See: " + command.Kubectl("get") + " crd"
	case e.bringer != "":
		return "--await-kinds=5m waits longer; apply again once it is there"
	default:
		return "install its definition, or put it into the set; --await-kinds waits for an operator that installs it"
	}
}

// otherVersionError says that the set defines the kind, but not in the version in
// which the object is written.
type otherVersionError struct {
	gvk      schema.GroupVersionKind
	versions []string
}

func (e *otherVersionError) Error() string {
	return fmt.Sprintf("the definition of %s in this set has no version %s, but %s",
		e.gvk.Kind, e.gvk.Version, strings.Join(e.versions, ", "))
}

// Hint says what to write.
func (e *otherVersionError) Hint() string {
	return "change apiVersion to " + e.gvk.Group + "/" + e.versions[0]
}

// definition returns the definition of the set that this run applied and that brings
// the kind of the item: the kind is not served yet, or known from before only.
func (e *Engine) definition(item plan.Item) (object.Key, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, need := range item.Needs {
		if need.Kind != definitionKind {
			continue
		}
		remembered := item.Kind.Resource != "" && e.actions[need] == event.Created
		if remembered || slices.Contains(item.Bringers, need) {
			return need, true
		}
	}
	return object.Key{}, false
}

// bringer returns what of the set may bring the kind of the item, and was applied.
func (e *Engine) bringer(item plan.Item) (object.Key, bool) {
	for _, key := range item.Bringers {
		if e.there(key) {
			return key, true
		}
	}
	return object.Key{}, false
}

const definitionKind = "CustomResourceDefinition"

// redefined reports whether the kind was known although this run had to create its
// definition: then a cache remembers one that is gone.
func (e *Engine) redefined(item plan.Item) bool {
	if item.Kind.Resource == "" || e.DryRun != object.DryRunNone {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		return need.Kind == definitionKind && e.actions[need] == event.Created
	})
}
