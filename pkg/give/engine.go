package give

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Server is the part of the API client that the engine needs.
type Server interface {
	object.Applier
	// PutManagedFields returns a conflict if the object is no longer at live's version.
	PutManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, how object.Write) (*unstructured.Unstructured, error)
}

// Target is one object.
type Target struct {
	Kind object.Kind
	Ref  object.Ref
	// Declared is the receiver's manifest of the object; nil if unknown.
	Declared *unstructured.Unstructured
	// Manifest names where Declared comes from, such as "the stored manifest (revision 3)"; empty if
	// the user passed it.
	Manifest string
	// As is the operation with which the receiver writes next; empty if unknown. Wish.As overrides it.
	As string
	// Validation is the receiver's field validation; empty means Ignore.
	Validation string
	// Migrates means that the receiver first takes over the fields of its own updates, which are thus in no
	// conflict.
	Migrates bool
}

// Engine transfers fields. Server and Emit are required.
type Engine struct {
	Server Server
	// Reader reads the objects at first, many with one request. If it is nil, each is read by itself.
	Reader object.LiveReader
	// Wish is the requested transfer. Each target's manifest (Target.Declared) is used as
	// Wish.Declared.
	Wish   transfer.Wish
	DryRun object.DryRun
	// Admit may return an error to refuse an object. OnGive is called with each object and the fields
	// that it would give. Calls may be concurrent. BeforeWrites is called once each object has been
	// decided, before the first write. All may be nil.
	Admit        func(live *unstructured.Unstructured) error
	OnGive       func(live *unstructured.Unstructured, moves []event.Move)
	BeforeWrites func()
	// Lenient ignores objects in which the giver owns no fields.
	Lenient bool
	// Emit is called for each event, one at a time.
	Emit func(event.Event)
}

// IncompleteError counts the objects whose transfer failed. The reason for each was emitted as an
// event.
type IncompleteError struct {
	// Refused counts the objects whose fields were not transferred, or only in part.
	Refused, Unknown int
	// UnknownManagers is the number of givers that own nothing and probably never did.
	UnknownManagers int
	// Contested counts the objects in which the receiver's next apply still conflicts, and NextRefused
	// those whose next apply the server refuses for another reason.
	Contested, NextRefused int
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%d objects were refused, %d have an unknown result, %d still conflict, %d will be refused, and %d managers own nothing", e.Refused, e.Unknown, e.Contested, e.NextRefused, e.UnknownManagers)
}

// Undetermined reports whether the result of some object is unknown.
func (e *IncompleteError) Undetermined() bool { return e.Unknown > 0 }

// Run transfers the fields of all targets. It reads and decides all of them before it writes one. It
// returns an *IncompleteError if some transfers failed.
func (e *Engine) Run(ctx context.Context, targets []Target) error {
	refs := make([]object.Ref, len(targets))
	for i, t := range targets {
		refs[i] = t.Ref
	}
	e.Emit(event.Planned{Phases: []event.Phase{{Name: "objects", Total: len(refs), Refs: refs}}})
	e.Emit(event.PhaseStarted{Index: 0})
	var mu sync.Mutex
	var incomplete IncompleteError
	var contested contest
	known := survey{wish: e.Wish, owners: map[string]bool{}}
	report := func(out event.Given, entries []managedfields.Entry) {
		mu.Lock()
		defer mu.Unlock()
		known.add(out, entries)
		switch {
		case out.Action == event.Unknown:
			incomplete.Unknown++
		case out.Action == event.Failed, slices.ContainsFunc(out.Left, func(w event.Withheld) bool { return !w.Undeclared }):
			incomplete.Refused++
		}
		if out.Next != nil && len(out.Next.After) > 0 {
			incomplete.Contested++
			contested.add(out.Next.After)
		}
		if out.Next != nil && out.Next.Refused != nil {
			incomplete.NextRefused++
		}
		e.Emit(out)
	}
	ready := e.decideAll(ctx, targets, report)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.BeforeWrites != nil {
		e.BeforeWrites()
	}
	e.writeAll(ctx, ready, report)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	slips, done := known.strangers()
	if len(slips) > 0 {
		incomplete.UnknownManagers = len(slips)
		e.Emit(event.Warned{Text: known.slip(slips, len(targets))})
	}
	if len(done) > 0 {
		e.Emit(event.Warned{Text: known.repetition(done, len(targets))})
	}
	if incomplete.Contested > 0 {
		e.Emit(event.Warned{Text: contested.text(e.Wish, incomplete.Contested)})
	}
	if incomplete.NextRefused > 0 {
		e.Emit(event.Warned{Text: fmt.Sprintf("the server will refuse %s's next apply of %s for the reason above, which no transfer of fields settles: change the manifest or the object",
			e.Wish.To, text.Count(incomplete.NextRefused, "object"))})
	}
	if incomplete != (IncompleteError{}) {
		return &incomplete
	}
	return nil
}

func (e *Engine) wish(ctx context.Context, live *unstructured.Unstructured, t Target) (transfer.Wish, transfer.Outcome, []managedfields.Entry, error) {
	w := e.Wish
	w.As = cmp.Or(w.As, t.As)
	entries, err := managedfields.Entries(live)
	if err != nil {
		return w, transfer.Outcome{}, nil, err
	}
	w.Paths = make([]fieldpath.Path, len(e.Wish.Paths))
	for i, p := range e.Wish.Paths {
		if w.Paths[i], err = transfer.At(live.Object, entries, p); err != nil {
			return w, transfer.Outcome{}, entries, err
		}
	}
	if t.Declared != nil {
		w.Declared = predict.WithoutStringData(t.Declared).Object // An entry names a value of stringData as data.
		if len(entries) == 0 && slices.Contains(w.From, managedfields.BeforeFirstApply) {
			if entries, err = e.entriesOfFirstApply(ctx, t); err != nil {
				return w, transfer.Outcome{}, nil, err
			}
		}
	}
	done, err := transfer.Give(entries, w)
	if rest, _ := withoutUs(done.Entries); len(rest) > 0 {
		done.Entries = rest // omits our own fields, left over from an earlier run
	}
	return w, done, entries, err
}

// entriesOfFirstApply returns the managed fields that the receiver's next apply will create in an object that has
// none. In that apply, the API server attributes all existing fields to before-first-apply, so
// different values conflict unless the apply is forced.
func (e *Engine) entriesOfFirstApply(ctx context.Context, t Target) ([]managedfields.Entry, error) {
	answer, err := e.Server.Apply(ctx, t.Kind, t.Declared, object.Write{
		Manager: e.Wish.To, Force: true, DryRun: true, Validation: metav1.FieldValidationIgnore,
	})
	if err != nil {
		return nil, err
	}
	return managedfields.Entries(answer)
}

// send writes the managed fields. It returns a note about side effects, or "".
func (e *Engine) send(ctx context.Context, t Target, live *unstructured.Unstructured, entries []managedfields.Entry) (string, error) {
	if e.DryRun == object.DryRunClient {
		return "", nil
	}
	fields, err := managedfields.Encode(entries)
	if err != nil {
		return "", err
	}
	how := object.Write{Manager: managedfields.Giver, DryRun: e.DryRun == object.DryRunServer}
	answer, err := e.Server.PutManagedFields(ctx, t.Kind, live, fields, how)
	if err != nil {
		return "", err
	}
	changed := rewritten(live.Object, answer.Object)
	if how.DryRun {
		return remark(changed, nil), nil
	}
	var stray *fieldpath.Set
	for attempts := retry.At(t.Ref); err == nil && answer != nil; { // The transfer is done, so an error only ends the loop.
		stray, answer, err = e.passOn(ctx, t, answer, attempts)
	}
	return remark(changed, stray), nil
}

// passOn hands the receiver the fields that the API server credited to us: defaults that are not
// stored and that every write sets anew. To do so, it writes again under the receiver's name.
// Without a receiver, it returns these fields. If another client has written in the meantime, it
// returns the current object.
func (e *Engine) passOn(ctx context.Context, t Target, answer *unstructured.Unstructured, attempts *retry.Attempts) (*fieldpath.Set, *unstructured.Unstructured, error) {
	attempts.OnRead(answer)
	now, err := managedfields.Entries(answer)
	if err != nil {
		return fieldpath.NewSet(), nil, err
	}
	entries, stray := withoutUs(now)
	if stray.Empty() || e.Wish.Mode == transfer.Release {
		return stray, nil, nil
	}
	fields, err := managedfields.Encode(entries)
	if err != nil {
		return stray, nil, err
	}
	_, err = e.Server.PutManagedFields(ctx, t.Kind, answer, fields, object.Write{Manager: e.Wish.To})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return fieldpath.NewSet(), nil, nil
	case !apierrors.IsConflict(err):
		return stray, nil, err
	}
	if err := attempts.Again(ctx); err != nil {
		return stray, nil, err
	}
	answer, err = e.Server.Get(ctx, t.Kind, t.Ref)
	return stray, answer, err
}

// withoutUs removes the fields of this command's own manager, which should never own a field.
func withoutUs(entries []managedfields.Entry) ([]managedfields.Entry, *fieldpath.Set) {
	stray := fieldpath.NewSet()
	var rest []managedfields.Entry
	for _, e := range entries {
		if e.Manager == managedfields.Giver && e.Operation == managedfields.Update {
			stray = stray.Union(e.Fields)
			continue
		}
		rest = append(rest, e)
	}
	return rest, stray
}

func (e *Engine) unknown(out event.Given, err error) event.Given {
	out.Action, out.Err = event.Unknown, err
	out.Moves, out.Left, out.Next = nil, nil, nil
	return out
}

func (e *Engine) refused(out event.Given, err error, entries []managedfields.Entry) event.Given {
	none := e.Lenient && (transfer.Missing(err) || errors.Is(err, transfer.ErrUnmanaged) || errors.As(err, new(*fieldpath.NotFoundError)))
	if none || repetition(e.Wish, err, entries) {
		out.Action, out.Reason = event.Unchanged, err.Error()
		return out
	}
	out.Action, out.Err = event.Failed, err
	return out
}
