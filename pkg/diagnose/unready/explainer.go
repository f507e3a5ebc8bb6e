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
	// keptOwn is how long an answer about one namespace or object is used. Pods, their
	// warnings and endpoints are read each time.
	keptOwn = 45 * time.Second
	// keptShared is the same for answers about the whole cluster: nodes, classes, possible
	// controllers.
	keptShared = 3 * time.Minute
)

// Explainer explains objects that hang, repeatedly while they do. Facts that were read for one of
// them also serve the others, and, for a while, the next time. Reader is required. It is safe for
// concurrent use, and serves one caller at a time.
type Explainer struct {
	Reader diagnose.Reader
	// Now returns the time; nil means the clock.
	Now func() time.Time

	mu    sync.Mutex
	facts *diagnose.Facts
}

// Asked is an object to explain.
type Asked struct {
	Ref object.Ref
	// Moved is set if it has changed since the last call. Fresh is set if nothing that was
	// read before may be used.
	Moved, Fresh bool
}

// Cost is the number of requests that an explanation took.
type Cost struct {
	// Own are the requests about the objects or their namespaces, Shared those that serve
	// all objects of a run. Again is the number of those that are sent again each time.
	Own, Shared, Again int
}

// Explain explains why each of the objects is not ready, as [Diagnose] does. It returns
// nothing for an object that is gone or cannot be read. If ctx ends, it explains with the
// facts that it has.
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
		_ = g.Fill(ctx, e.facts, func(r *diagnose.Run) { e.rules(r, asked) }) // Incomplete facts are better than none.
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

// rules runs the rules for all objects together, so that shared questions are asked once.
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

// forget drops earlier answers that may have changed.
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

// isVolatile reports whether an answer is expected to change each time: the state of Pods,
// warnings, and lists of which only a part is kept for the objects of one call.
func isVolatile(q diagnose.Question) bool {
	return q.Verb == diagnose.List && slices.Contains([]schema.GroupVersionKind{
		rule.Core("Pod"), rule.Core("Event"), rule.EndpointSlice(), rule.Storage("VolumeAttachment"),
	}, q.GVK)
}

// isShared reports whether a question is about the whole cluster.
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
