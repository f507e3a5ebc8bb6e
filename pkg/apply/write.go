package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

func (e *Engine) write(ctx context.Context, t *target) {
	e.emit(event.Started{Ref: t.Item.Ref})
	if t.anew != nil {
		e.recreate(ctx, t)
		return
	}
	defer func() {
		if !t.late {
			e.returnSurplus(ctx, t)
		}
	}()
	if t.Unchecked != "" {
		if !e.confirmed(ctx, t) {
			return
		}
		if err := e.adoptFirst(ctx, t); err != nil {
			e.failTarget(ctx, t, e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err))
			return
		}
		if e.contest(t) {
			return
		}
	}
	t.attempts = retry.At(t.Item.Ref)
	defer func() { t.attempts = nil }() // Attempts keep the object in memory.
	for {
		t.attempts.OnRead(t.Live)
		if !e.confirmed(ctx, t) {
			return
		}
		answer, err := e.send(ctx, t)
		if apierrors.IsForbidden(err) && e.awaitsAccount(t.Item) {
			answer, err = e.sendUntilAdmitted(ctx, t, err)
		}
		switch {
		case err == nil:
			e.accepted(ctx, t, answer)
			return
		case t.overtaken(err):
			if e.prepareNext(ctx, t, err) {
				return
			}
		case object.MayBeWritten(err) && ctx.Err() == nil:
			e.settleLost(ctx, t, err)
			return
		default:
			e.refused(ctx, t, err)
			return
		}
	}
}

func (e *Engine) refused(ctx context.Context, t *target, err error) {
	if e.mustRecreate(ctx, t, err) {
		e.recreate(ctx, t)
		return
	}
	e.failTarget(ctx, t, e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err))
}

// prepareNext prepares another attempt after another client has written the object. If the object is as it
// was meant to be, an attempt of ours may have written it although its answer was lost. done means
// that there is no further attempt.
func (e *Engine) prepareNext(ctx context.Context, t *target, refusal error) (done bool) {
	if object.MayBeWritten(refusal) && e.arrived(ctx, t) {
		return true
	}
	err := t.attempts.Again(ctx)
	_, lost := errors.AsType[*retry.LostError](err)
	switch {
	case lost && predict.IsContested(refusal):
		t.Conflicts = e.Predictor.Contested(refusal, t.Live, t.Declared)
		e.contest(t)
		return true
	case lost && object.MayBeWritten(refusal):
		e.fail(ctx, t.Item, unknownError(refusal))
		return true
	case err != nil:
		e.failTarget(ctx, t, err)
		return true
	case t.Live == nil:
		return e.appeared(ctx, t)
	}
	if err := e.reread(ctx, t); err != nil {
		e.refused(ctx, t, err)
		return true
	}
	return e.contest(t)
}

// appeared handles a create that failed because the object already exists.
func (e *Engine) appeared(ctx context.Context, t *target) (done bool) {
	if err := e.reread(ctx, t); err != nil {
		e.fail(ctx, t.Item, e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err))
		return true
	}
	if t.Live != nil && e.Admit != nil {
		if err := e.Admit(t.Item, t.Live); err != nil {
			e.fail(ctx, t.Item, err)
			return true
		}
	}
	return e.contest(t)
}

// settleLost handles a write that got no response. The write succeeded if the object is as predicted
// (edge case 85).
func (e *Engine) settleLost(ctx context.Context, t *target, err error) {
	if !e.arrived(ctx, t) {
		e.fail(ctx, t.Item, unknownError(err))
	}
}

func unknownError(err error) error {
	return fmt.Errorf("it is unknown whether it was written: %w", err)
}

// arrived reads the object. If another apply would change nothing, it reports the target as written
// and returns true.
func (e *Engine) arrived(ctx context.Context, t *target) bool {
	live, err := e.Server.Get(ctx, t.Item.Kind, t.Item.Ref)
	if err != nil {
		return false
	}
	p := e.predictorOf(t)
	now, err := p.Evaluate(t.Item, live)
	switch {
	case err != nil:
		return false
	case now.Verdict == noop.Unchanged:
	case p.Ask(ctx, e.Server, &now) != nil || len(now.Conflicts) > 0 || !now.NoChange():
		return false
	}
	e.wrote(t, live, nil)
	e.accepted(ctx, t, live)
	return true
}

// send writes the target once. It first takes ownership of the adopted fields, except those that
// the apply changes.
func (e *Engine) send(ctx context.Context, t *target) (*unstructured.Unstructured, error) {
	how := object.Write{
		Manager: e.Predictor.Manager, Validation: e.Predictor.Validation,
		Force: len(t.Taken) > 0 || t.Adoption.Overwrites(), Create: t.Live == nil,
	}
	body := t.Body
	version := ""
	if how.Force || t.bound && t.Live != nil {
		version = t.Live.GetResourceVersion()
	}
	if t.Adopts() {
		moved, err := e.transfer(ctx, t)
		if err != nil {
			return nil, err
		}
		version = moved.GetResourceVersion()
	}
	if version != "" {
		body = object.AtVersion(body, version)
	}
	if t.bound && t.Live != nil {
		body = object.WithUID(body, t.Live.GetUID())
	}
	answer, err := e.Server.Apply(ctx, t.Item.Kind, body, how)
	e.wrote(t, answer, err)
	return answer, err
}

func (e *Engine) transfer(ctx context.Context, t *target) (*unstructured.Unstructured, error) {
	fields, err := t.Adoption.Transfer()
	if err != nil || fields == nil {
		return t.Live, err
	}
	live := t.Live
	if before := t.Adoption.Before(live); before != nil {
		live, err = e.Server.Update(ctx, t.Item.Kind, before, object.Write{Manager: e.Predictor.Manager, Validation: e.Predictor.Validation})
		if e.wrote(t, live, err); err != nil {
			return nil, err
		}
	}
	moved, err := e.Server.SetManagedFields(ctx, t.Item.Kind, live, fields)
	e.wrote(t, moved, err)
	if !t.Adoption.SurplusSet().Empty() {
		t.borrowed = append(t.borrowed, t.Adoption)
	}
	if err == nil {
		t.ours, t.moved = moved.GetResourceVersion(), t.AdoptedFrom()
	}
	return moved, err
}

// failTarget reports a failure, and the owners that were changed before it.
func (e *Engine) failTarget(ctx context.Context, t *target, err error) {
	if len(t.moved) > 0 {
		err = fmt.Errorf("only owners have changed (the fields of %s are yours now): %w", strings.Join(t.moved, ", "), err)
	}
	e.fail(ctx, t.Item, err)
}

// awaitsAccount reports whether the server may refuse a Pod because its new namespace has no
// default service account yet (edge case 19).
func (e *Engine) awaitsAccount(item plan.Item) bool {
	if item.GVK.Group != "" || item.GVK.Kind != "Pod" {
		return false
	}
	return e.done.action(object.Key{Kind: "Namespace", Name: item.Namespace}) == event.Created
}

func (e *Engine) sendUntilAdmitted(ctx context.Context, t *target, err error) (*unstructured.Unstructured, error) {
	e.emit(event.Waiting{Ref: t.Item.Ref, For: "the service account of its new namespace"})
	var answer *unstructured.Unstructured
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.5, Steps: 12}
	_ = wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		answer, err = e.send(ctx, t)
		return !apierrors.IsForbidden(err), nil
	})
	return answer, err
}

// adoptFirst adopts fields, and then sends the dry run that was not possible before.
func (e *Engine) adoptFirst(ctx context.Context, t *target) error {
	t.attempts = retry.At(t.Item.Ref)
	for {
		t.attempts.OnRead(t.Live)
		_, overtaken := e.transfer(ctx, t)
		if overtaken != nil {
			if !apierrors.IsConflict(overtaken) {
				return overtaken
			}
			if err := t.attempts.Again(ctx); err != nil {
				return err
			}
		}
		if err := e.reread(ctx, t); err != nil || t.Unchecked == "" {
			return err
		}
		if overtaken == nil {
			if err := t.attempts.Again(ctx); err != nil {
				return err
			}
		}
	}
}

func (e *Engine) reread(ctx context.Context, t *target) error {
	if err := e.predictorOf(t).Refresh(ctx, e.Server, &t.Prediction); err != nil {
		return err
	}
	return e.predict(ctx, t)
}

func (e *Engine) mustRecreate(ctx context.Context, t *target, refusal error) bool {
	if e.Remove == nil {
		return false
	}
	t.anew = e.predictorOf(t).Recreation(ctx, e.Server, &t.Prediction, refusal)
	return t.anew != nil
}

// recreate deletes the object and creates it again. It never touches a different object of the same
// name that appears after the deletion.
func (e *Engine) recreate(ctx context.Context, t *target) {
	if !e.confirmed(ctx, t) {
		return
	}
	e.emit(event.Waiting{Ref: t.Item.Ref, For: "it to be deleted, because " + t.anew.Reason})
	if e.Journal != nil {
		e.Journal.Removed(t.Item, t.Live)
	}
	kept := false
	err := e.Remove(ctx, t.Item.Kind, t.Item.Ref, t.anew.UID, e.staying(ctx, t, &kept))
	switch {
	case kept:
		return
	case err != nil:
		e.fail(ctx, t.Item, withAdvice(err, "it was not recreated; once it is gone, apply again"))
		return
	}
	// The object is gone now, so create it even if the run is interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), creationTime)
	defer cancel()
	err = e.predictorOf(t).Refresh(ctx, e.Server, &t.Prediction)
	switch {
	case err != nil:
		e.fail(ctx, t.Item, goneError(err))
		return
	case t.Live != nil:
		e.fail(ctx, t.Item, errNameTaken)
		return
	}
	t.Answer = t.anew.Answer
	answer, err := e.send(ctx, t)
	switch {
	case err == nil:
		e.accepted(ctx, t, answer)
	case apierrors.IsConflict(err) && !object.MayBeWritten(err):
		e.fail(ctx, t.Item, errNameTaken)
	case object.MayBeWritten(err) && ctx.Err() == nil:
		e.settleLost(ctx, t, err)
	default:
		e.fail(ctx, t.Item, goneError(e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err)))
	}
}

// staying returns a check that allows deleting only the reviewed version, or a version with the
// same result. If the check keeps the object, it sets *kept to true. Without a review, staying
// returns nil.
func (e *Engine) staying(ctx context.Context, t *target, kept *bool) func(*unstructured.Unstructured) string {
	if !t.bound {
		return nil
	}
	return func(live *unstructured.Unstructured) string {
		if live.GetResourceVersion() == t.Live.GetResourceVersion() {
			return ""
		}
		t.anew = nil
		switch err := e.reread(ctx, t); {
		case err != nil && !e.mustRecreate(ctx, t, err):
			e.fail(ctx, t.Item, e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err))
		case e.confirmed(ctx, t):
			return ""
		}
		*kept = true
		return "the result would differ from what was confirmed"
	}
}

const creationTime = 30 * time.Second

var errNameTaken error = &object.HintedError{
	Err:    errors.New("it was deleted so that it could be recreated, but another client created an object with the same name; that object was left alone"),
	Advice: "find out what created that object; to change it, apply again",
}

func goneError(err error) error {
	return withAdvice(fmt.Errorf("it was deleted so that it could be recreated, but could not be created: %w", err), "it does not exist now; apply again")
}

func withAdvice(err error, advice string) error {
	if hint := object.HintOf(err); hint != "" {
		advice += "; " + hint
	}
	return &object.HintedError{Err: err, Advice: advice}
}
