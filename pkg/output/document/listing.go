package document

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// listing writes the name of each good object, or the object itself, to stdout. Other results go to
// stderr as a table.
type listing struct {
	output.Base
	pick func(event.Event) (listed, bool)
	objectWriter
	// early is set if results are written at the end of each phase.
	early   bool
	texts   output.PlanOrdered[string]
	rest    output.Results
	failure error
}

// listed is an object to print, or only its name if object is nil.
type listed struct {
	ref    object.Ref
	object *unstructured.Unstructured
}

// NewAppliedNames writes the names of applied objects, as kubectl -o name does.
func NewAppliedNames(b output.Base, rest output.Results) output.Results {
	return &listing{Base: b, early: true, rest: rest, pick: func(e event.Event) (listed, bool) {
		applied, ok := e.(event.Applied)
		good := []event.Action{event.Created, event.Configured, event.Recreated, event.Shared, event.Unchanged}
		return listed{ref: applied.Ref}, ok && slices.Contains(good, applied.Action)
	}}
}

// NewDeletedNames writes the names of deleted objects.
func NewDeletedNames(b output.Base, rest output.Results) output.Results {
	return &listing{Base: b, early: true, rest: rest, pick: func(e event.Event) (listed, bool) {
		deleted, ok := e.(event.Deleted)
		return listed{ref: deleted.Ref}, ok && deleted.Action == event.Gone
	}}
}

// NewMetNames writes the names of objects that met their conditions.
func NewMetNames(b output.Base, rest output.Results) output.Results {
	return &listing{Base: b, rest: rest, pick: func(e event.Event) (listed, bool) {
		waited, ok := e.(event.Waited)
		return listed{ref: waited.Ref}, ok && waited.Action == event.Met
	}}
}

// NewAppliedObjects writes applied objects as the server has them. The error is about the template.
func NewAppliedObjects(b output.Base, rest output.Results) (output.Results, error) {
	w, err := objectFormat(b)
	return &listing{Base: b, objectWriter: w, rest: rest, pick: func(e event.Event) (listed, bool) {
		applied, _ := e.(event.Applied)
		return listed{applied.Ref, applied.Object}, applied.Object != nil
	}}, err
}

// NewMetObjects writes the objects that met their conditions, unless the condition was their
// deletion. The error is about the template.
func NewMetObjects(b output.Base, rest output.Results) (output.Results, error) {
	w, err := objectFormat(b)
	return &listing{Base: b, objectWriter: w, rest: rest, pick: func(e event.Event) (listed, bool) {
		waited, _ := e.(event.Waited)
		return listed{waited.Ref, waited.Object}, waited.Action == event.Met && waited.Object != nil
	}}, err
}

func (l *listing) Handle(e event.Event) {
	o, ok := l.pick(e)
	if !ok {
		l.rest.Handle(e)
		return
	}
	shown := text.Printable(o.ref.Resource()) + "\n"
	if o.object != nil {
		var err error
		if shown, err = l.write(o.object); err != nil && l.failure == nil {
			l.failure = fmt.Errorf("%s: %w", format.Name(o.ref), err)
		}
	}
	if shown != "" {
		l.texts.Add(l.State.Place(o.ref), shown)
	}
}

func (l *listing) Flush() {
	l.rest.Flush()
	if l.early {
		l.Screen.Result(strings.Join(l.texts.Drain(), ""))
	}
}

func (l *listing) Finish(ctx context.Context) error {
	l.Screen.Result(l.begin + strings.Join(l.texts.Drain(), l.between) + l.end)
	if err := l.rest.Finish(ctx); err != nil {
		return err
	}
	return l.failure
}
