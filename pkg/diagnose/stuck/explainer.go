package stuck

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Facts is what is known about one object that is being deleted.
type Facts struct {
	// Now is when it was looked.
	Now time.Time
	// Object is the object as it was read last. Its metadata may be all there is.
	Object *unstructured.Unstructured
	// Before and After are two looks at what it holds; After is zero where there was
	// no second.
	Before, After Look

	known *diagnose.Facts
}

// Explainer says why objects do not go away. Its Gatherer needs a Reader. It may be
// used from many goroutines.
type Explainer struct {
	diagnose.Gatherer
	// Pause lies between two looks at what an object holds, from which it is told
	// whether it moves; 0 means one second.
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

// Gather collects what the situation of the object asks for, in parallel. What it
// was not allowed to read is marked in the facts; an error says that ctx ended.
func (e *Explainer) Gather(ctx context.Context, live *unstructured.Unstructured) (Facts, error) {
	f := Facts{Now: e.Time(), Object: live, known: diagnose.NewFacts(live)}
	if err := e.Fill(ctx, f.known, func(r *diagnose.Run) { newDiagnosis(r).explain(f) }); err != nil {
		return f, err
	}
	return e.lookAgain(ctx, f)
}
