package unready

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// keptOwn is how long an answer about one namespace or object is good for. Pods,
	// their warnings and endpoints are read each time.
	keptOwn = 45 * time.Second
	// keptShared is the same for what is about the whole cluster: nodes, classes, who may
	// be a controller.
	keptShared = 3 * time.Minute
)

// Explainer explains objects that hang, again and again while they do. What was read for
// one of them serves the others, and for a while the next time. Reader is needed. It may
// be used from many goroutines, and explains for one of them at a time.
type Explainer struct {
	Reader diagnose.Reader
	// Now is the time; nil is the clock.
	Now func() time.Time

	mu    sync.Mutex
	facts *diagnose.Facts
}

// Asked is an object to explain.
type Asked struct {
	Ref object.Ref
	// Moved: it has changed since it was asked about last. Fresh: nothing that was read
	// before will do.
	Moved, Fresh bool
}

// Cost is how many requests it took.
type Cost struct {
	// Own are those about the objects or their namespaces, Shared those that all objects
	// of a run share. Again is how many of them are sent again each time.
	Own, Shared, Again int
}

// Explain tells why each of the objects is not ready, as [Diagnose] does: nothing for an
// object that is gone, or cannot be read. Time that is over leaves facts that are not
// complete, and better than none.
func (e *Explainer) Explain(ctx context.Context, asked []Asked) ([][]event.Cause, Cost) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g := diagnose.Gatherer{Reader: e.Reader, Now: e.Now, ReadTimeout: time.Hour, WorthList: 100}
	began := g.Time()
	if e.facts == nil {
		e.facts = diagnose.NewFacts()
	}
	e.forget(asked, began)
	var first []diagnose.Question
	for _, a := range asked {
		q := diagnose.Question{Verb: diagnose.Get, GVK: a.Ref.GVK, Namespace: a.Ref.Namespace, Name: a.Ref.Name}
		if _, known := e.facts.Find(q); !known {
			first = append(first, q)
		}
	}
	if g.AskAll(ctx, e.facts, first) == nil {
		_ = g.Fill(ctx, e.facts, func(r *diagnose.Run) { e.rules(r, asked) }) // Better than none.
	}
	causes := make([][]event.Cause, len(asked))
	for i, a := range asked {
		r := diagnose.NewRun(began, e.facts)
		if live, _ := r.Get(a.Ref.GVK, a.Ref.Namespace, a.Ref.Name); live != nil {
			causes[i] = newRules(r, live).explain()
		}
	}
	return causes, e.cost(began)
}

// rules runs those for all objects, so that what they ask for is asked once.
func (e *Explainer) rules(r *diagnose.Run, asked []Asked) {
	var all []*rules
	for _, a := range asked {
		if live, _ := r.Get(a.Ref.GVK, a.Ref.Namespace, a.Ref.Name); live != nil {
			v := newRules(r, live)
			v.apply()
			all = append(all, v)
		}
	}
	if r.Misses() > 0 {
		return
	}
	for _, v := range all {
		v.volumes.AskHolders()
		v.AskWarnings()
	}
}

// forget forgets what was read before and may be another thing by now.
func (e *Explainer) forget(asked []Asked, now time.Time) {
	moved, fresh := map[string]bool{}, false
	for _, a := range asked {
		moved[a.Ref.Namespace] = moved[a.Ref.Namespace] || a.Moved
		fresh = fresh || a.Fresh
	}
	e.facts.Forget(func(q diagnose.Question, at time.Time) bool {
		switch {
		case fresh, isVolatile(q):
			return true
		case isShared(q):
			return now.Sub(at) >= keptShared
		default:
			return moved[q.Namespace] || now.Sub(at) >= keptOwn
		}
	})
}

// isVolatile reports whether an answer is another one each time: where Pods stand, what
// is warned of, and what of a list is kept for the objects of one call.
func isVolatile(q diagnose.Question) bool {
	return q.Verb == diagnose.List && slices.Contains([]schema.GroupVersionKind{
		rule.Core("Pod"), rule.Core("Event"), rule.EndpointSlice(), rule.Storage("VolumeAttachment"),
	}, q.GVK)
}

// isShared reports whether an answer is about the cluster.
func isShared(q diagnose.Question) bool { return q.Namespace == "" }

func (e *Explainer) cost(since time.Time) Cost {
	var c Cost
	for _, q := range e.facts.Since(since) {
		switch {
		case isShared(q), q.GVK == rule.Core("Event"):
			c.Shared++
		default:
			c.Own++
		}
		if isVolatile(q) {
			c.Again++
		}
	}
	return c
}
