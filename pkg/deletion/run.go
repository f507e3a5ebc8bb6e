package deletion

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

var errPhaseBefore = errors.New("objects that have to be deleted first are still there")

// Run deletes the objects of the phases, one phase after the other. It returns an
// *IncompleteError when not all of them are gone, and ctx's error when it was
// interrupted.
func (e *Engine) Run(ctx context.Context, phases []Phase) error {
	e.woken, e.turns = make(chan struct{}, 1), make(chan struct{}, explainSide)
	if allNamed(phases) {
		e.mu.Lock()
		e.plan(phases)
		e.mu.Unlock()
	}
	var blocked error
	for i, ph := range phases {
		if blocked == nil && ctx.Err() != nil {
			blocked = context.Cause(ctx)
		}
		if blocked != nil {
			e.skipAll(ph, blocked)
			continue
		}
		if !e.phase(ctx, i, ph) {
			blocked = errPhaseBefore
		}
	}
	e.sweep(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.outcome != (Outcome{}) {
		return &IncompleteError{e.outcome}
	}
	return nil
}

// phase deletes the objects of one phase. It returns false if some of them are
// there still, or may be.
func (e *Engine) phase(ctx context.Context, index int, ph Phase) bool {
	watching, stop := context.WithCancel(ctx)
	var views []*view
	var followers sync.WaitGroup
	for _, s := range ph.Sets {
		views = append(views, e.viewsOf(s)...)
	}
	for _, v := range views {
		followers.Go(func() { v.follow(watching) })
	}
	defer e.side.Wait()
	defer followers.Wait()
	defer stop()
	for _, v := range views {
		v.wait(ctx)
	}
	e.mu.Lock()
	e.outlived = e.isDark(views)
	e.mu.Unlock()
	targets := e.settle(index, ph, views)
	if !e.keepsWatch() {
		stop()
	}
	if e.Finalizer != "" {
		e.release(ctx, targets)
	} else {
		e.each(ctx, targets, e.ask)
	}
	if e.keepsWatch() {
		e.await(watching, targets)
	}
	return e.close(ctx, targets)
}

// isDark reports whether an outage has been outlived for nothing, and the server has answered
// no view since. The engine is locked.
func (e *Engine) isDark(views []*view) bool {
	dark := e.outlived
	for _, v := range views {
		if v.synced || v.kindGone || v.ended != nil && !watchset.MayPass(v.ended) {
			return false
		}
		dark = dark || v.ended != nil
	}
	return dark
}

// Outcome counts what kept a run from its end.
type Outcome struct {
	// Remaining, Refused and Unknown are numbers of objects: still there when their time
	// was over, refused by the server, and of unknown fate.
	Remaining, Refused, Unknown int
}

// IncompleteError says that not everything is gone. Events have reported what happened to
// each object.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything is gone: %d still there, %d refused, %d unknown", e.Remaining, e.Refused, e.Unknown)
}

// ErrDeclined is what Confirm returns when the user said no.
var ErrDeclined = errors.New("not confirmed")
