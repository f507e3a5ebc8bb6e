package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// Server is what the engine needs of a cluster. Its calls retry what may pass
// and keep the pace that the server allows; the engine only says what it wants.
type Server interface {
	predict.Server
	predict.Permissions
	// Kind tells how the cluster serves a kind.
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	// Served waits until the cluster serves the kind; 0 is as long as it would wait for
	// the cluster itself.
	Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (object.Kind, error)
	// Established waits until a definition is accepted, or tells why it will not be.
	Established(ctx context.Context, definition string) error
	// Unserved tells why the cluster does not serve a kind.
	Unserved(ctx context.Context, gvk schema.GroupVersionKind) error
	// ExplainRefusal adds to the refusal of an object of the kind which webhook is
	// behind it, where that can be told.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
	// Live reads the objects of one kind and calls visit once for each of them,
	// one call at a time, with nil for one that does not exist.
	Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error))
	// SetManagedFields replaces the managed fields of the object at that
	// resource version.
	SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error)
}

// Engine carries out plans. Server and Emit are needed; one Engine is for one
// run.
type Engine struct {
	Server    Server
	Predictor predict.Predictor
	DryRun    object.DryRun
	// PastConflicts goes on past objects in conflict: what does not need them is
	// written. Otherwise nothing is, from the first phase that has a conflict on.
	PastConflicts bool
	// Objects asks for the objects themselves in the events.
	Objects bool
	// Namespace is what a kind that was not known when the plan was made needs to
	// settle its scope.
	Scope plan.Options
	// AwaitKinds is how long to wait for kinds that the cluster does not serve yet,
	// whatever the set says of them. 0 waits only for those that something in the set
	// may bring, and as long as for the cluster itself.
	AwaitKinds time.Duration
	// Wait waits until objects are ready that were applied, and returns an error if
	// they do not become so. Before each phase it is called with what that needs, at
	// the end with all the rest. Nil where nobody waits.
	Wait func(ctx context.Context, applied []plan.Item) error
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	// looking: a phase is contested, so that nothing more is written. What is left
	// is only looked at.
	looking bool

	mu      sync.Mutex
	outcome Outcome
	actions map[object.Key]event.Action
	aliases map[object.Key]object.Key
	waited  map[object.Key]bool
}

// Outcome counts what kept a run from doing all it was asked to.
type Outcome struct {
	// Conflicts, Rejected and Unknown are numbers of objects: contested, refused
	// by the server, and those of which nothing can be said because the server
	// could not be asked.
	Conflicts, Rejected, Unknown int
}

// IncompleteError says that not everything was applied. What happened to each
// object was told by events.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything was applied: %d in conflict, %d refused, %d unknown",
		e.Conflicts, e.Rejected, e.Unknown)
}

// Run carries out the plan. It returns an *IncompleteError when some object
// could not be applied, the error of Wait when something did not become ready, and
// ctx's error when it was interrupted.
func (e *Engine) Run(ctx context.Context, p *plan.Plan) error {
	e.actions = map[object.Key]event.Action{}
	planned := event.Planned{Phases: make([]event.Phase, len(p.Phases))}
	for i, ph := range p.Phases {
		planned.Phases[i] = event.Phase{Name: ph.Name, Total: len(ph.Items), Refs: ph.Refs()}
	}
	e.emit(planned)

	var blocked, unready error
	for i, ph := range p.Phases {
		if blocked == nil {
			if unready = e.gate(ctx, p, i); unready != nil {
				blocked = errNotReady
			}
		}
		if blocked == nil && ctx.Err() != nil {
			blocked = context.Cause(ctx)
		}
		switch {
		case blocked == nil:
			e.emit(event.PhaseStarted{Index: i})
			if !e.phase(ctx, ph) {
				blocked = errPhaseBefore
			}
		case e.looking && ctx.Err() == nil:
			e.emit(event.PhaseStarted{Index: i})
			e.look(ctx, ph, blocked)
		default:
			e.skipAll(ph, blocked)
		}
	}
	if unready == nil {
		unready = e.gateAll(ctx, p)
	}
	switch {
	case unready != nil:
		return unready
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case e.outcome != (Outcome{}):
		return &IncompleteError{e.outcome}
	default:
		return nil
	}
}

// Why objects are skipped.
var (
	errPhaseBefore = errors.New("an earlier phase has conflicts")
	errSamePhase   = errors.New("other objects of its phase have conflicts")
)

// phase applies the items of one phase. It returns false when they are
// contested and nothing was written.
func (e *Engine) phase(ctx context.Context, ph plan.Phase) bool {
	targets := e.read(ctx, e.resolve(ctx, ph.Items))
	targets = e.ask(ctx, targets)
	switch contested := slices.ContainsFunc(targets, (*target).contested); {
	case contested && e.PastConflicts:
		targets = slices.DeleteFunc(targets, func(t *target) bool {
			if t.contested() {
				e.conflict(t)
			}
			return t.done
		})
	case contested:
		e.looking = true
		e.holdBack(ctx, targets, errSamePhase)
		return false
	}
	do := e.write
	if e.DryRun == object.DryRunServer {
		do = e.try
	}
	e.each(ctx, targets, do)
	return true
}

// each runs do for all targets side by side. The server's client keeps the pace,
// so the bound here only limits memory.
func (e *Engine) each(ctx context.Context, targets []*target, do func(context.Context, *target)) {
	const side = 256
	var g errgroup.Group
	g.SetLimit(side)
	for _, t := range targets {
		g.Go(func() error {
			if ctx.Err() != nil {
				t.done = true
				e.skip(t.Item, context.Cause(ctx))
				return nil
			}
			do(ctx, t)
			return nil
		})
	}
	_ = g.Wait() // do reports by events, never by an error
}

func (e *Engine) emit(ev event.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Emit(ev)
}
