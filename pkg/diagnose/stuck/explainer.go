package stuck

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Explainer explains why objects do not go away. Its Gatherer needs a Reader. It is safe
// for concurrent use.
type Explainer struct {
	diagnose.Gatherer
	// Pause is the time between two looks at what an object holds, which show whether it
	// makes progress; 0 means one second.
	Pause time.Duration

	mu    sync.Mutex
	looks map[types.UID]Look // of earlier explanations
}

// Explain gathers facts about the object and diagnoses them.
func (e *Explainer) Explain(ctx context.Context, _ object.Kind, live *unstructured.Unstructured) ([]event.Cause, error) {
	facts, err := e.Gather(ctx, live)
	if err != nil {
		return nil, err
	}
	return Diagnose(facts), nil
}

// Gather reads what the situation of the object calls for, in parallel. Facts that it lacked
// permission to read are marked; an error means that ctx ended.
func (e *Explainer) Gather(ctx context.Context, live *unstructured.Unstructured) (Facts, error) {
	f := Facts{Now: e.Time(), Object: live, known: diagnose.NewFacts(live)}
	if err := e.Fill(ctx, f.known, func(r *diagnose.Run) { newDiagnosis(r).explain(f) }); err != nil {
		return f, err
	}
	return e.lookAgain(ctx, f)
}

// usualPause is the default of Pause.
const usualPause = time.Second

// lookAgain takes a second look at what the object holds if no earlier look is there to
// compare with.
func (e *Explainer) lookAgain(ctx context.Context, f Facts) (Facts, error) {
	held, ok := newDiagnosis(diagnose.NewRun(f.Now, f.known)).left(f.Object)
	if !ok || held.total() == 0 {
		return f, nil
	}
	now := Look{At: f.Now, Left: held.total()}
	before, seen := e.remember(f.Object.GetUID(), now)
	if wait := cmp.Or(e.Pause, usualPause); !seen || now.At.Sub(before.At) < wait {
		if err := retry.For(ctx, wait); err != nil {
			return f, err
		}
		again, err := e.count(ctx, f, held)
		if err != nil {
			return f, err
		}
		before, now = now, again
		e.remember(f.Object.GetUID(), now)
	}
	f.Before, f.After = before, now
	return f, nil
}

// count counts again the objects of the kinds that the object held.
func (e *Explainer) count(ctx context.Context, f Facts, held contents) (Look, error) {
	namespace := ""
	if diagnose.IsKind(f.Object, "", "Namespace") {
		namespace = f.Object.GetName()
	}
	asked := map[diagnose.Question]bool{}
	for _, u := range append(held.going, held.present...) {
		asked[diagnose.Question{Verb: diagnose.Metadata, GVK: u.GroupVersionKind(), Namespace: namespace}] = true
	}
	again := diagnose.NewFacts()
	if err := e.AskAll(ctx, again, slices.Collect(maps.Keys(asked))); err != nil {
		return Look{}, err
	}
	look := Look{At: e.Time()}
	for q := range asked {
		a, ok := again.Find(q)
		if !ok || a.Err != nil { // Nothing to compare with.
			return Look{At: look.At, Left: held.total()}, nil
		}
		look.Left += len(a.Objects)
	}
	return look, nil
}

// remember keeps a look for the next explanation, and returns the one before.
func (e *Explainer) remember(uid types.UID, now Look) (Look, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.looks == nil {
		e.looks = map[types.UID]Look{}
	}
	before, seen := e.looks[uid]
	e.looks[uid] = now
	return before, seen
}
