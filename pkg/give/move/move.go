// Package move moves live objects from one tool to another: between Helm releases, Flux, Argo CD and
// sets. It changes only marks and owners. Start with [Engine.Run].
package move

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Keeper is the field manager that owns the mark with which the old tool keeps an object. It must not
// be the new tool's, whose next apply would remove the mark while the old tool still lists the object.
const Keeper = "k8sconnect-move"

// Tool is a release, a set or another owner of objects.
type Tool struct {
	// Name is for messages, such as "Helm release shop/web".
	Name    string
	Manager string
	// Operation is how the tool writes: Apply or Update.
	Operation string
	// Labels and Annotations are its marks on an object. A value may contain the placeholder OBJECT.
	Labels, Annotations map[string]string
	// Keep is the annotation that makes the tool keep an object that is no longer in its source. It is
	// empty if the tool deletes only objects with its marks.
	Keep, KeepValue string
	// Joins means that only the tool's own next run writes its marks. Sets and Argo CD delete each object with
	// their marks that is not in their source (yet).
	Joins bool
	// KeepList means that the annotation is a list, separated by commas.
	KeepList bool
	// Absent means that a set does not exist yet, or that a Helm release is not installed (any more), as far as
	// the cluster shows: Helm can store releases in a database. So the annotation that keeps an object is never
	// removed for it.
	Absent bool
	// Similar is an installed release with a similar name; empty if there is none.
	Similar string
	// Lists reports whether the tool's current revision or inventory lists an object.
	Lists func(object.Ref) bool
}

// Server is the part of the API client that the engine needs.
type Server interface {
	object.Getter
	// Merge and PutManagedFields return a conflict if the object is no longer at the version that was
	// read.
	Merge(ctx context.Context, kind object.Kind, patch *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
	PutManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, how object.Write) (*unstructured.Unstructured, error)
}

// Target is an object to move.
type Target struct {
	Kind object.Kind
	Ref  object.Ref
}

// Engine moves objects. Server, From, To and Emit are required.
type Engine struct {
	Server   Server
	From, To Tool
	DryRun   object.DryRun
	// Admit is called with each object that would be moved; an error refuses it. OnPlan is called with each
	// object that is not refused; moves is false if it has been moved before. BeforeWrites is called once
	// each object has been read, before the first write. All may be nil.
	Admit        func(live *unstructured.Unstructured) error
	OnPlan       func(live *unstructured.Unstructured, moves bool)
	BeforeWrites func()
	Emit         func(event.Event)
}

// IncompleteError counts the objects that were not moved.
type IncompleteError struct{ Failed, Unknown int }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%d objects were refused, and %d have an unknown result", e.Failed, e.Unknown)
}

// Undetermined reports whether the result of some object is unknown.
func (e *IncompleteError) Undetermined() bool { return e.Unknown > 0 }

// Run moves the targets one after the other. It can be repeated after each interruption. The last
// repetition, when only the new tool lists an object, removes the mark that keeps it. Run returns
// the objects whose move has begun, but is not finished.
func (e *Engine) Run(ctx context.Context, targets []Target) (open []object.Ref, err error) {
	refs := make([]object.Ref, len(targets))
	for i, t := range targets {
		refs[i] = t.Ref
	}
	e.Emit(event.Planned{Phases: []event.Phase{{Name: "objects", Total: len(refs), Refs: refs}}})
	e.Emit(event.PhaseStarted{Index: 0})
	var incomplete IncompleteError
	plans := make([]*plan, len(targets))
	for i, t := range targets {
		plans[i] = e.plan(ctx, t)
		p := plans[i]
		if p.err == nil && len(p.steps) == 0 && e.From.Absent && (!IsKept(p.live) || !e.To.marked(p.live)) {
			p.err = e.absent()
		}
		if p.err == nil && e.OnPlan != nil {
			e.OnPlan(p.live, len(p.steps) > 0)
		}
	}
	if e.BeforeWrites != nil {
		e.BeforeWrites()
	}
	for i, t := range targets {
		if ctx.Err() != nil {
			return open, context.Cause(ctx)
		}
		out, isOpen := e.one(ctx, t, plans[i])
		switch out.Action { //nolint:exhaustive // the other actions are successes
		case event.Failed:
			incomplete.Failed++
		case event.Unknown:
			incomplete.Unknown++
		}
		if isOpen {
			open = append(open, t.Ref)
		}
		e.Emit(out)
	}
	if incomplete != (IncompleteError{}) {
		return open, &incomplete
	}
	return open, nil
}

// plan is how one object moves, decided from one of its versions. If err is set, the object is not
// moved.
type plan struct {
	live  *unstructured.Unstructured
	steps []step
	err   error
	// unknown means that the object could not be read.
	unknown bool
}

// plan reads an object and decides its steps. It writes nothing.
func (e *Engine) plan(ctx context.Context, t Target) *plan {
	live, err := e.Server.Get(ctx, t.Kind, t.Ref)
	if err != nil {
		return &plan{err: err, unknown: true}
	}
	p := &plan{live: live}
	if p.steps, p.err = e.steps(live); p.err == nil && len(p.steps) > 0 && e.Admit != nil {
		p.err = e.Admit(live)
	}
	return p
}

// one moves one object, in this order: the mark that makes the old tool keep it, then the marks of the
// new tool, then the owners. After each request, the old tool either still owns the object or keeps
// it, so neither tool deletes it. If another client has written since the plan, one plans again.
func (e *Engine) one(ctx context.Context, t Target, p *plan) (out event.Given, isOpen bool) {
	out = event.Given{Ref: t.Ref, DryRun: e.DryRun != object.DryRunNone}
	for attempts := retry.At(t.Ref); ; p = e.plan(ctx, t) {
		if p.err != nil {
			if out.Action, out.Err = event.Failed, p.err; p.unknown {
				out.Action = event.Unknown
			}
			return out, false
		}
		attempts.OnRead(p.live)
		done, err := e.carryOut(ctx, t, p.live, p.steps)
		if apierrors.IsConflict(err) {
			if err := attempts.Again(ctx); err != nil {
				out.Action, out.Err = event.Unknown, err
				return out, false
			}
			continue
		}
		if err != nil {
			out.Action, out.Err = event.Unknown, err
			return out, len(done) > 1 // The last one is the step that failed.
		}
		out.Action = event.Handed
		if out.Reason = strings.Join(done, "; "); len(done) == 0 {
			out.Action = event.Unchanged
		}
		return out, !e.leaves(t.Ref)
	}
}

// leaves reports whether only the new tool lists an object.
func (e *Engine) leaves(ref object.Ref) bool {
	return !e.From.Absent && !e.From.Lists(ref) && e.To.Lists(ref)
}

// absent refuses an object that carries no marks of an old release that is not installed. The name of
// the release is probably wrong, unless the object is still kept after it was taken back to the new one.
func (e *Engine) absent() error {
	return object.Hinted("helm list -A shows all releases", "%s not found, and the object does not carry its marks", e.From.Name)
}

// step is one request.
type step struct {
	text    string
	manager string
	patch   map[string]any
	// fields replaces the managed fields instead.
	fields func(live *unstructured.Unstructured) ([]any, error)
}

func (e *Engine) carryOut(ctx context.Context, t Target, live *unstructured.Unstructured, steps []step) (done []string, err error) {
	for _, s := range steps {
		done = append(done, s.text)
		if e.DryRun == object.DryRunClient || e.DryRun == object.DryRunServer && s.fields != nil {
			continue // The server cannot try a step that depends on an earlier one.
		}
		answer, err := e.send(ctx, t, live, s)
		if err != nil {
			return done, err
		}
		if e.DryRun == object.DryRunNone {
			live = answer
		}
	}
	return done, nil
}

func (e *Engine) send(ctx context.Context, t Target, live *unstructured.Unstructured, s step) (*unstructured.Unstructured, error) {
	how := object.Write{Manager: s.manager, DryRun: e.DryRun == object.DryRunServer}
	if s.fields != nil {
		fields, err := s.fields(live)
		if err != nil {
			return nil, err
		}
		return e.Server.PutManagedFields(ctx, t.Kind, live, fields, how)
	}
	patch := &unstructured.Unstructured{Object: map[string]any{"metadata": s.patch}}
	patch.SetAPIVersion(live.GetAPIVersion())
	patch.SetKind(live.GetKind())
	patch.SetName(live.GetName())
	patch.SetNamespace(live.GetNamespace())
	patch.SetResourceVersion(live.GetResourceVersion())
	return e.Server.Merge(ctx, t.Kind, patch, how)
}

// steps returns the remaining steps of a move, so that a move that was cut can be repeated. The annotation that
// keeps the object is added first, and removed only when the old tool no longer lists the object: until then,
// that tool could prune it.
func (e *Engine) steps(live *unstructured.Unstructured) ([]step, error) {
	ref := object.RefOf(live)
	isFrom, isTo := e.From.marked(live) || e.From.Lists(ref), e.To.marked(live)
	rival := e.From.rival(live)
	switch {
	case isTo:
	case isFrom && rival != "":
		return nil, object.Hinted("move it from its owner, or remove the mark if that owner is gone",
			"it does not belong to %s, because it carries the mark of another owner: %s", e.From.Name, rival)
	case isFrom:
	case e.From.Absent:
		return nil, e.absent()
	case !IsKept(live):
		owner := "to no tool or set"
		if claims := applyset.Claims(live, ""); len(claims) > 0 {
			owner = "to " + claims[0].String()
		}
		return nil, fmt.Errorf("it belongs %s, and neither to %s nor to %s", owner, e.From.Name, e.To.Name)
	}
	var steps []step
	by := e.keeper()
	if e.leaves(ref) && isTo {
		if value, kept := by.unkept(live); kept {
			steps = append(steps, step{"removed the annotation " + by.Keep, Keeper, annotations(map[string]any{by.Keep: value}), nil})
		}
	} else if value, add := by.kept(live); add && (isFrom || !e.From.Absent) {
		steps = append(steps, step{fmt.Sprintf("added the annotation %s: %s", by.Keep, by.KeepValue), Keeper, annotations(map[string]any{by.Keep: value}), nil})
	}
	marks, adds := e.marks(live)
	if marks != nil {
		text := "marked as " + e.To.Name
		if !adds {
			text = "no longer marked as " + e.From.Name
		}
		steps = append(steps, step{text, e.To.Manager, marks, nil})
	}
	done, err := e.transfer(live, marks != nil)
	if err != nil {
		return nil, err
	}
	if done {
		steps = append(steps, step{"its fields belong to " + e.To.Manager, managedfields.Giver, nil, e.fields})
	}
	return steps, nil
}

func annotations(values map[string]any) map[string]any { return map[string]any{"annotations": values} }

// transfer reports whether owners remain to be changed. After new marks, there always are some, except in an
// object whose managed fields were cleared: the server does not record who updates it.
func (e *Engine) transfer(live *unstructured.Unstructured, marks bool) (bool, error) {
	entries, err := managedfields.Entries(live)
	switch {
	case err != nil:
		return false, err
	case len(entries) == 0:
		return false, nil
	case marks:
		return true, nil
	}
	done, err := transfer.Give(entries, e.wish())
	if transfer.Missing(err) {
		return false, nil
	}
	return len(done.Given) > 0, err
}

func (e *Engine) wish() transfer.Wish {
	from := []string{e.From.Manager}
	if e.To.Manager != e.From.Manager {
		from = append(from, e.To.Manager)
	}
	return transfer.Wish{From: from, To: e.To.Manager, As: e.To.Operation, Mode: transfer.Move}
}

// fields returns the managed fields in which the new tool owns the fields of the old one.
func (e *Engine) fields(live *unstructured.Unstructured) ([]any, error) {
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil, err
	}
	done, err := transfer.Give(entries, e.wish())
	if transfer.Missing(err) {
		return managedfields.Encode(entries)
	}
	if err != nil {
		return nil, err
	}
	return managedfields.Encode(done.Entries)
}
