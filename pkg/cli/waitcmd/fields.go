package waitcmd

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	waiting "github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// matching returns the objects that a selector matches when the wait begins. Each is then
// waited for by its name, as kubectl does: a watch with the selector would report an
// object as gone that merely stopped matching, because fields change during the wait. It
// is not a deletion if an object loses a label. If the wait is for a first match, the
// request is repeated.
func (o *waitOptions) matching(ctx context.Context, client *client.Client, all []target.Target, began time.Time) ([]waiting.Target, error) {
	until, cancel := ctx, func() {}
	if existence := o.engine.Existence; existence != nil {
		until, cancel = context.WithDeadline(ctx, began.Add(*existence))
	}
	defer cancel()
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.3, Jitter: 0.1, Steps: 100, Cap: 3 * time.Second}
	for {
		found, err := o.matchingNow(ctx, client, all)
		if err != nil || len(found) > 0 || o.waitsFor(condition.Delete) {
			return found, err
		}
		if !o.awaitsFirst() {
			return nil, nothing(ctx, client, all, false)
		}
		o.out.Print(event.Waiting{For: "a first object that matches", Since: began, Within: max(0, o.timeout)})
		select {
		case <-until.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, context.Cause(ctx)
			}
			return nil, nothing(context.WithoutCancel(ctx), client, all, true)
		case <-time.After(pauses.Step()):
		}
	}
}

func (o *waitOptions) matchingNow(ctx context.Context, client *client.Client, all []target.Target) ([]waiting.Target, error) {
	var found []waiting.Target
	var faults []error
	for _, t := range all {
		err := client.Select(ctx, t.Kind.GVK, t.Selection, "", func(u *unstructured.Unstructured) {
			found = append(found, waiting.Target{
				Selection: object.Selection{Namespace: u.GetNamespace(), Name: u.GetName()},
				Kind:      t.Kind, Type: t.Kind.GVR().GroupResource().String(), Goal: o.goal, Found: true,
			})
		})
		faults = append(faults, err)
	}
	return found, errors.Join(faults...)
}

// waitsFor reports whether one of the conditions is of the kind.
func (o *waitOptions) waitsFor(kind condition.Kind) bool {
	return slices.ContainsFunc(o.goal.For, func(s condition.Spec) bool { return s.Kind == kind })
}

// awaitsFirst reports whether it is no error that nothing matches yet.
func (o *waitOptions) awaitsFirst() bool {
	existence := o.engine.Existence
	return o.timeout != 0 && (existence != nil && *existence > 0 || existence == nil && o.waitsFor(condition.Create))
}

func nothing(ctx context.Context, client *client.Client, all []target.Target, late bool) error {
	var errs []error
	for _, t := range all {
		what := waiting.Selected(t.Kind.GVR().GroupResource().String(), t.Selection)
		errs = append(errs, &waiting.NothingError{
			What: what, Late: late, Why: target.WhyAbsent(client)(ctx, t.Kind, object.Ref{GVK: t.Kind.GVK, Namespace: t.Namespace}),
		})
	}
	return errors.Join(errs...)
}
