package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// mustRecreate reports whether a refused target is to be deleted and created anew: the
// server says that a field cannot be changed, and the user said what to do then.
func (e *Engine) mustRecreate(ctx context.Context, t *target, refusal error) bool {
	if e.Remove == nil {
		return false
	}
	t.anew = e.predictorOf(t).Recreation(ctx, e.Server, &t.Prediction, refusal)
	return t.anew != nil
}

// recreate deletes the object that was found, waits until it is gone, and creates it from the
// manifest. Another object that has the name by then is left alone.
func (e *Engine) recreate(ctx context.Context, t *target) {
	e.emit(event.Waiting{Ref: t.Item.Ref, For: "it to be deleted, as " + t.anew.Reason})
	e.removed(t)
	if err := e.Remove(ctx, t.Item, t.anew.UID); err != nil {
		e.fail(ctx, t.Item, &recreateError{err: err, advice: "it was not created anew; once it is gone, apply again"})
		return
	}
	// An object that is gone and not yet there again is worse than one of the two.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), creationTime)
	defer cancel()
	err := e.predictorOf(t).Refresh(ctx, e.Server, &t.Prediction)
	switch {
	case err != nil:
		e.fail(ctx, t.Item, goneError(err))
		return
	case t.Live != nil:
		e.fail(ctx, t.Item, errNameTaken)
		return
	}
	answer, err := e.send(ctx, t)
	switch {
	case err == nil:
		e.accepted(ctx, t, answer)
	case apierrors.IsConflict(err) && !mayBeWritten(err):
		e.fail(ctx, t.Item, errNameTaken)
	case mayBeWritten(err) && ctx.Err() == nil:
		e.lost(ctx, t, err)
	default:
		e.fail(ctx, t.Item, goneError(e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err)))
	}
}

// creationTime is how long the second half of a recreation may take once the run was
// interrupted.
const creationTime = 30 * time.Second

// errNameTaken: another client created an object of the name that was to be recreated.
var errNameTaken error = &object.HintedError{
	Err:    errors.New("it was to be recreated, and another object has its name now, which was left alone"),
	Advice: "find out who creates it; to change that one, apply again",
}

// recreateError says that an object was not recreated.
type recreateError struct {
	err    error
	advice string
}

// goneError says that the object was deleted, and why it was not created.
func goneError(err error) error {
	return &recreateError{
		err:    fmt.Errorf("it was deleted to be recreated, and could not be created: %w", err),
		advice: "it does not exist now; apply again",
	}
}

func (e *recreateError) Error() string { return e.err.Error() }

func (e *recreateError) Unwrap() error { return e.err }

// Hint says what there is now, and what the error below advises.
func (e *recreateError) Hint() string {
	var hinted interface{ Hint() string }
	if errors.As(e.err, &hinted) && hinted.Hint() != "" {
		return e.advice + "; " + hinted.Hint()
	}
	return e.advice
}
