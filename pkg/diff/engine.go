// Package diff compares live objects with their predicted state. It compares only the fields that
// we own or would own. Start with [Engine.Run]. The package writes and prints nothing.
package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Server is the part of the API client that the engine needs.
type Server interface {
	predict.Server
	predict.Permissions
	object.LiveReader
	// Kind returns the kind, or an error that explains why the cluster does not serve it.
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	Unserved(ctx context.Context, gvk schema.GroupVersionKind) error
}

// ErrDiffers means that an apply would change something.
var ErrDiffers error = differsError{}

type differsError struct{}

func (differsError) Error() string { return "something would change" }

// Undetermined is false: the result of every object is known.
func (differsError) Undetermined() bool { return false }

// Evaluated is true: every object was compared with the server's.
func (differsError) Evaluated() bool { return true }

// UnknownError counts the objects whose outcome is unknown. An event has reported the reason for
// each.
type UnknownError struct {
	Objects int
}

func (e *UnknownError) Error() string {
	return "the result is unknown for " + text.Count(e.Objects, "object")
}

// Undetermined is true.
func (e *UnknownError) Undetermined() bool { return true }

// Engine compares one plan. Server and Emit are required.
type Engine struct {
	Server    Server
	Predictor predict.Predictor
	// Admit is apply's check of each existing object. An error becomes a warning, and the object's changes
	// are reported without conflicts, because no choice would let them be applied. Admit may be nil.
	Admit func(item plan.Item, live *unstructured.Unstructured) error
	// OnRead is called for each compared object with its live state (before), which is nil for a new
	// object, and its predicted state (after). Calls may be concurrent. Seen may be nil.
	OnRead func(item plan.Item, before, after *unstructured.Unstructured, changes bool)
	// Judged is called with each prediction, and with whether the apply would change something, possibly
	// concurrently. It may be nil.
	Judged func(p *predict.Prediction, changes bool)
	// Unmasked is called with the result for each Secret, possibly concurrently. It may be nil.
	Unmasked func(event.Compared)
	// Prefetched is a reader that was started before Run, or nil. Run closes it.
	Prefetched *prefetch.Reader
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	reads *prefetch.Reader

	mu      sync.Mutex
	differs bool
	unknown int
	known   map[object.Key]bool
	refused map[object.Key]bool

	// unservedKinds is used only by the goroutine of Run.
	unservedKinds map[schema.GroupVersionKind]error
}

// Run compares all objects. It returns nil if nothing would change, ErrDiffers, or an
// *UnknownError.
func (e *Engine) Run(ctx context.Context, p *plan.Plan) error {
	e.known, e.refused, e.unservedKinds = map[object.Key]bool{}, map[object.Key]bool{}, map[schema.GroupVersionKind]error{}
	planned := event.Planned{Phases: make([]event.Phase, len(p.Phases))}
	for i, ph := range p.Phases {
		planned.Phases[i] = event.Phase{Name: ph.Name, Total: len(ph.Items), Refs: ph.Refs()}
	}
	e.emit(planned)
	if e.reads, e.Prefetched = e.Prefetched, nil; e.reads == nil {
		e.reads = prefetch.Start(ctx, e.Server, p)
	}
	defer e.reads.Close()
	// Phases are compared in order, because the earlier ones show which of the needed objects
	// exist.
	for i, ph := range p.Phases {
		e.emit(event.PhaseStarted{Index: i})
		e.phase(ctx, ph)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case e.unknown > 0:
		return &UnknownError{Objects: e.unknown}
	case e.differs:
		return ErrDiffers
	default:
		return nil
	}
}

func (e *Engine) phase(ctx context.Context, ph plan.Phase) {
	items := make([]*plan.Item, 0, len(ph.Items))
	for i := range ph.Items {
		item := &ph.Items[i]
		if item.Kind.Resource == "" {
			e.unserved(ctx, *item)
			continue
		}
		items = append(items, item)
	}
	const side = 256
	var asks errgroup.Group
	asks.SetLimit(side)
	e.reads.Items(ctx, items, func(item *plan.Item, live *unstructured.Unstructured, err error) {
		e.evaluate(ctx, &asks, *item, live, err)
	})
	_ = asks.Wait()
}

// evaluate asks the server only if the live object does not already reveal the result.
func (e *Engine) evaluate(ctx context.Context, asks *errgroup.Group, item plan.Item, live *unstructured.Unstructured, err error) {
	if err != nil {
		e.reportUnknown(ctx, item, predict.DeniedRead(item, err))
		return
	}
	e.mu.Lock()
	e.known[item.Key()] = live != nil
	e.mu.Unlock()
	if live != nil && e.Admit != nil {
		if err := e.Admit(item, live); err != nil {
			e.emit(event.Warned{Ref: item.Ref, Text: "apply refuses it: " + err.Error()})
			e.mu.Lock()
			e.refused[item.Key()], e.differs = true, true
			e.mu.Unlock()
		}
	}
	if live != nil && live.GetDeletionTimestamp() != nil {
		e.emit(event.Warned{Ref: item.Ref, Text: predict.Terminating})
	}
	p, err := e.Predictor.Evaluate(item, live)
	if text, detail := p.UnboundText(); text != "" {
		e.emit(event.Warned{Ref: item.Ref, Text: text, Detail: detail})
	}
	switch {
	case err != nil:
		e.reportUnknown(ctx, item, err)
	case p.Verdict == noop.Unchanged:
		e.judged(&p, false)
		e.compared(event.Compared{Ref: item.Ref, Source: item.Source, Action: event.None, Yielded: p.Yielded, Left: p.Left})
	default:
		asks.Go(func() error {
			e.dryRun(ctx, &p)
			return nil
		})
	}
}

// dryRun asks the server for the outcome of an apply. The server cannot check an object that needs another one
// which the set would create.
func (e *Engine) dryRun(ctx context.Context, p *predict.Prediction) {
	e.emit(event.Started{Ref: p.Item.Ref})
	defer p.Reuse()()
	if err := e.Predictor.Orphaned(ctx, e.Server, p); err != nil {
		e.reportUnknown(ctx, p.Item, err)
		return
	}
	if p.Live == nil {
		if need, ok := e.absent(p.Item); ok {
			e.judged(p, true)
			e.uncheckedCreate(p.Item, need.Ref().String()+" is created by this set")
			return
		}
	}
	err := e.Predictor.Ask(ctx, e.Server, p)
	if conflict, ok := errors.AsType[*predict.ConflictError](err); ok {
		p.Conflicts = conflict.Conflicts
		e.judged(p, true)
		e.nearMisses(p)
		e.compared(contestedOnly(p, e.Predictor.ExplainConflict(ctx, e.Server, p, conflict)))
		return
	}
	var anew *predict.Recreation
	if err != nil {
		if anew = e.Predictor.Recreation(ctx, e.Server, p, err); anew == nil {
			e.reportUnknown(ctx, p.Item, e.Predictor.Explain(ctx, e.Server, p, err))
			return
		}
	}
	compared, err := e.Outcome(p, anew)
	if err != nil {
		e.reportUnknown(ctx, p.Item, err)
		return
	}
	e.judged(p, compared.Action != event.None)
	if anew != nil {
		e.compared(compared)
		return
	}
	e.nearMisses(p)
	for _, text := range p.Warnings() {
		e.emit(event.Warned{Ref: p.Item.Ref, Text: text})
	}
	e.rewritten(p)
	e.seen(p.Item, p.Live, p.Answer, compared.Action == event.Create || compared.Action == event.Update)
	e.compared(compared)
}

// rewritten warns, like apply, about values that something in the cluster rewrites.
func (e *Engine) rewritten(p *predict.Prediction) {
	if p.Answer == nil {
		return
	}
	changes, err := e.Predictor.Rewritten(p, p.Answer)
	if err != nil {
		return
	}
	for _, c := range redact.Changes(p.Item.Ref, changes) {
		w := event.Warned{Ref: p.Item.Ref, Rewriting: event.Rewritten}
		w.Text, w.Detail = predict.RewritingWarning(c)
		e.emit(w)
	}
}

func (e *Engine) judged(p *predict.Prediction, changes bool) {
	if e.Judged != nil {
		e.Judged(p, changes)
	}
}

func (e *Engine) seen(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
	if e.OnRead != nil && after != nil {
		e.OnRead(item, before, after, changes)
	}
}

// nearMisses warns about choices that seem to be meant for a conflict but do not match it.
func (e *Engine) nearMisses(p *predict.Prediction) {
	for _, miss := range e.Predictor.NearMisses(p) {
		e.emit(event.Warned{Ref: miss.Ref, Text: miss.Text})
	}
}

// absent returns an object that the item needs and that does not yet exist.
func (e *Engine) absent(item plan.Item) (object.Key, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, need := range item.Needs {
		if exists, looked := e.known[need]; looked && !exists {
			return need, true
		}
	}
	return object.Key{}, false
}

func (e *Engine) unserved(ctx context.Context, item plan.Item) {
	if need, ok := e.absent(item); ok {
		e.uncheckedCreate(item, need.Ref().String()+" is created by this set")
		return
	}
	err := e.whyUnserved(ctx, item.GVK)
	for _, need := range item.Needs {
		if need.Kind == "CustomResourceDefinition" && slices.Contains(item.Bringers, need) {
			// The object may already exist at another version.
			err = fmt.Errorf("%s is served only after %s in this set is applied", item.GVK.GroupVersion(), need.Ref())
		}
	}
	if err == nil {
		err = errors.New("the server has just begun to serve its kind: run this again")
	}
	e.reportUnknown(ctx, item, err)
}

func (e *Engine) whyUnserved(ctx context.Context, gvk schema.GroupVersionKind) error {
	if err, asked := e.unservedKinds[gvk]; asked {
		return err
	}
	_, err := e.Server.Kind(ctx, gvk)
	if meta.IsNoMatchError(err) && errors.Unwrap(err) == nil {
		err = e.Server.Unserved(ctx, gvk)
	}
	e.unservedKinds[gvk] = err
	return err
}

// uncheckedCreate reports a new object that the server cannot check (edge case 38).
func (e *Engine) uncheckedCreate(item plan.Item, why string) {
	e.seen(item, nil, item.Object, true)
	e.compared(event.Compared{
		Ref: item.Ref, Source: item.Source, Action: event.Create, After: item.Object.Object,
		Reason: "not checked by the server: " + why,
	})
}

func (e *Engine) reportUnknown(ctx context.Context, item plan.Item, err error) {
	err = redact.Error(item.Object, predict.Denied(ctx, e.Server, item, err))
	e.compared(event.Compared{Ref: item.Ref, Source: item.Source, Action: event.Unknown, Reason: err.Error(), Err: err})
}

// Values of Secrets are masked only here.
func (e *Engine) compared(c event.Compared) {
	e.mu.Lock()
	if e.refused[c.Ref.Key()] {
		c.Changes = withoutConflicts(c.Changes)
	}
	e.mu.Unlock()
	if redact.IsSecret(c.Ref) {
		if e.Unmasked != nil {
			e.Unmasked(c)
		}
		c.Before, c.After = redact.Pair(c.Ref, c.Before, c.After)
		c.Changes = redact.Changes(c.Ref, c.Changes)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch c.Action {
	case event.None:
	case event.Unknown:
		e.unknown++
	default:
		e.differs = true
	}
	e.Emit(c)
}

func (e *Engine) emit(ev event.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Emit(ev)
}
