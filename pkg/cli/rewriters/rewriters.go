// Package rewriters names the mutating webhooks and policies that may have stored values of a run's input
// otherwise. Without such values, it sends no request.
package rewriters

import (
	"context"
	"sync"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// most is the number of objects for which webhooks and policies are matched.
	most = 100
	// within limits the requests, and requests their number.
	within   = 5 * time.Second
	requests = 20 + most
	// shown is the number of names in the message.
	shown = 3
)

// Collector collects the objects of a run of which the cluster stores values otherwise.
type Collector struct {
	mu      sync.Mutex
	objects map[object.Key]bool
}

// See collects the object of a warning about such a value. Calls may be concurrent.
func (c *Collector) See(e event.Event) {
	w, ok := e.(event.Warned)
	if !ok || w.Rewriting == event.NotRewriting {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects == nil {
		c.objects = map[object.Key]bool{}
	}
	if len(c.objects) < most {
		c.objects[w.Ref.Key()] = true
	}
}

// Watch returns a function that passes events to emit, and collects the objects.
func (c *Collector) Watch(emit func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		c.See(e)
		emit(e)
	}
}

// Report emits which webhooks and policies match the collected objects. It emits nothing if that cannot be
// read completely: the one that is missing might be the right one.
func (c *Collector) Report(ctx context.Context, p *plan.Plan, reader diagnose.Reader, emit func(event.Event)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.objects) == 0 || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	facts, g := diagnose.NewFacts(), diagnose.Gatherer{Reader: reader, Budget: requests}
	var names []string
	all := false
	if err := g.Fill(ctx, facts, func(r *diagnose.Run) { names, all = c.candidates(r, p) }); err != nil || !all {
		return
	}
	emit(event.Remarked{Code: event.Rewriters, Text: message(names, len(c.objects))})
}

// candidates returns the names of the webhooks and policies that match at least one object, and whether all
// are known.
func (c *Collector) candidates(r *diagnose.Run, p *plan.Plan) (names []string, all bool) {
	all = true
	known := map[object.Ref]bool{}
	for item := range p.Items() {
		if !c.objects[item.Key()] {
			continue
		}
		found, sure := r.Mutators(item.Kind, item.Object)
		all = all && sure
		for _, ref := range found {
			if !known[ref] {
				known[ref] = true
				names = append(names, ref.GVK.Kind+" "+ref.Name)
			}
		}
	}
	return names, all
}

func message(names []string, objects int) string {
	them := "the object"
	if objects > 1 {
		them = "any of the objects"
	}
	switch len(names) {
	case 0:
		return "no mutating webhook or policy matches " + them + ": the API server itself, a plugin in it, or a conversion between versions does it"
	case 1:
		return "probably " + names[0] + " does it: no other mutating webhook or policy matches " + them
	}
	return "one of the mutating webhooks and policies that match " + them + " may do it: " + text.List(names, shown)
}
