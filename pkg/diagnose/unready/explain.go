package unready

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Facts are what is known of an object that does not get ready, and of what its
// readiness rests on.
type Facts struct {
	// Object is what does not get ready.
	Object *unstructured.Unstructured
	// Now is when the facts were gathered; zero where no age may be told.
	Now time.Time

	known *diagnose.Facts
}

// Gather reads what the situation of the object asks for, and no more: what cannot be
// read is noted as such. It returns an error only where ctx ends, with the facts as far
// as they go; a caller whose own time is over gives it some of its own.
func Gather(ctx context.Context, reader diagnose.Reader, live *unstructured.Unstructured) (Facts, error) {
	f := Facts{Object: live, Now: time.Now(), known: diagnose.NewFacts(live)}
	g := diagnose.Gatherer{
		Reader:   reader,
		Patience: time.Hour, // The caller's time is the limit.
		// What is read by itself is bounded by the Pods that are looked at in detail. A
		// list of all nodes, or claims, may be much longer.
		WorthList: 100,
	}
	return f, g.Fill(ctx, f.known, func(r *diagnose.Run) { newView(r, live).explain() })
}

// Diagnose tells why the object is not ready: root causes first, and one cause for
// all Pods that have the same trouble. It returns nothing where the facts explain
// nothing.
func Diagnose(f Facts) []event.Cause {
	if f.Object == nil {
		return nil
	}
	return newView(diagnose.NewRun(f.Now, f.known), f.Object).explain()
}

// explain runs the rules. What is worth reading only once it is known for what is asked
// at the end.
func (v *view) explain() []event.Cause {
	found := slices.Concat(v.namespace(), v.subject(v.object))
	if v.Misses() == 0 {
		v.askHolders()
		v.askWarnings()
	}
	return causes(append(found, v.unread()...), v.more)
}
