package stuck

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// sideBySide is how many requests are under way at once.
	sideBySide = 24
	// patience is how long one read may take.
	patience = 4 * time.Second
	// budget is how many requests one explanation, or one survey, may take.
	budget = 600
	// rounds is how often the rules may ask for more.
	rounds = 12
	// pause lies between two looks at what an object holds.
	pause = time.Second
)

// Gatherer collects what is to be known of objects that do not go away: what the
// rules ask for, and nothing else. Reader is needed. It may be used from many
// goroutines.
type Gatherer struct {
	Reader Reader
	// Now is the time; nil is the clock.
	Now func() time.Time
	// Patience is how long one read may take; 0 means 4 seconds.
	Patience time.Duration
	// Budget is how many requests one explanation may take; 0 means 600. What is
	// beyond it is told as not read.
	Budget int
	// Pause lies between two looks at what an object holds, from which it is told
	// whether it moves; 0 means one second.
	Pause time.Duration

	mu    sync.Mutex
	looks map[types.UID]Look // of earlier explanations
	sent  int
}

// Explain gathers facts about the object and diagnoses them.
func (g *Gatherer) Explain(ctx context.Context, _ object.Kind, live *unstructured.Unstructured) ([]event.Cause, error) {
	facts, err := g.Gather(ctx, live)
	if err != nil {
		return nil, err
	}
	return Diagnose(facts), nil
}

// Gather collects what the situation of the object asks for, in parallel. What it
// was not allowed to read is marked in the facts; an error says that ctx ended.
func (g *Gatherer) Gather(ctx context.Context, live *unstructured.Unstructured) (Facts, error) {
	known := newKnown()
	known.put(questionOf(live), answer{object: live, given: true})
	f := Facts{Now: g.now(), Object: live, known: known}
	if err := g.fill(ctx, known, func(d *diagnosis) { d.explain(f) }); err != nil {
		return f, err
	}
	return g.lookAgain(ctx, f)
}

// Requests is how many requests were sent so far.
func (g *Gatherer) Requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent
}

// fill runs the rules, asks what they ask for, and does so again until they ask for
// nothing more.
func (g *Gatherer) fill(ctx context.Context, k *known, run func(*diagnosis)) error {
	left := g.Budget
	if left == 0 {
		left = budget
	}
	for range rounds {
		d := newDiagnosis(g.now(), k)
		run(d)
		if len(d.asked) == 0 {
			return nil
		}
		batch := batches(k, d.asked)
		if len(batch) > left {
			for _, q := range batch[left:] {
				k.put(q, answer{err: errNotAsked})
			}
			batch = batch[:left]
		}
		left -= len(batch)
		if err := g.askAll(ctx, k, batch); err != nil {
			return err
		}
		if k.allTroubled(batch) { // It would go on like that, and nobody waits for it.
			return nil
		}
	}
	return nil
}

// askAll asks questions side by side.
func (g *Gatherer) askAll(ctx context.Context, k *known, questions []question) error {
	turns := make(chan struct{}, sideBySide)
	var wait sync.WaitGroup
	for _, q := range questions {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if ctx.Err() != nil {
				return
			}
			k.put(q, g.ask(ctx, k, q))
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// ask sends one request.
func (g *Gatherer) ask(ctx context.Context, k *known, q question) (a answer) {
	limit := g.Patience
	if limit == 0 {
		limit = patience
	}
	g.mu.Lock()
	g.sent++
	g.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	sel := object.Selection{Namespace: q.namespace, Name: q.name, Labels: q.labels}
	ref := object.Ref{GVK: q.gvk, Namespace: q.namespace, Name: q.name}
	var items []unstructured.Unstructured
	switch q.verb {
	case get:
		a.object, a.err = g.Reader.Get(ctx, q.gvk, q.namespace, q.name)
	case list:
		items, a.err = g.Reader.List(ctx, q.gvk, sel)
	case metadata:
		items, a.err = g.Reader.Metadata(ctx, q.gvk, sel)
	case kinds:
		a.kinds, a.err = g.Reader.Kinds(ctx)
	case allowed:
		a.yes, a.err = g.Reader.Allowed(ctx, q.user, q.detail, ref)
	case replay:
		a.err = g.replay(ctx, k, ref, q.detail)
	}
	a.objects = pointers(items, q.gvk)
	return a
}

// replay tries the removal of a finalizer on the object as it was read.
func (g *Gatherer) replay(ctx context.Context, k *known, ref object.Ref, finalizer string) error {
	live := k.object(ref)
	if live == nil {
		return errGone
	}
	return g.Reader.DryRunRemoveFinalizer(ctx, ref, live, finalizer)
}

// slowError says that a read was not answered in time.
type slowError struct{}

func (slowError) Error() string { return "no answer in time" }

// Unreachable marks errors that say nothing about the object.
func (slowError) Unreachable() bool { return true }

var (
	errSlow error = slowError{}
	errGone       = errors.New("it is gone by now")
)

func (g *Gatherer) now() time.Time {
	if g.Now == nil {
		return time.Now()
	}
	return g.Now()
}

func pointers(items []unstructured.Unstructured, gvk schema.GroupVersionKind) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, len(items))
	for i := range items {
		items[i].SetGroupVersionKind(gvk) // Items of a list may not say it.
		objects[i] = &items[i]
	}
	return objects
}

func questionOf(u *unstructured.Unstructured) question {
	return question{verb: get, gvk: u.GroupVersionKind(), namespace: u.GetNamespace(), name: u.GetName()}
}
