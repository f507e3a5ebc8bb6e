// Package review holds what a run would make of each object, as a user reviews it before the run.
// A [Plan] is filled from the events of a comparison; [Plan.Digest] identifies it, so that a later
// run can be held to it. It reads nothing and writes nothing.
package review

import (
	"slices"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Plan is what a run comes to, object by object. The zero Plan is that nothing changes. It may be
// used from many goroutines.
type Plan struct {
	mu       sync.Mutex
	outcomes map[object.Key]Outcome
	// secrets are the outcomes of Secrets with their values, which never leave the Plan but as a
	// part of its digest.
	secrets   map[object.Key]Outcome
	contested bool
}

// See takes in one event. Remarks about an object and paths that are left to others are no part of
// the plan: two reads of one cluster give the same one.
func (p *Plan) See(e event.Event) {
	c, ok := e.(event.Compared)
	if !ok || c.Action == event.None || c.Action == event.Unknown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.contested = p.contested || slices.ContainsFunc(c.Changes, func(c managedfields.Change) bool { return c.Kind == managedfields.Contested })
	if p.outcomes == nil {
		p.outcomes = map[object.Key]Outcome{}
	}
	p.outcomes[c.Ref.Key()] = OutcomeOf(c)
}

// SeeSecret takes in what becomes of a Secret, with its values. See gets the same with masks.
func (p *Plan) SeeSecret(c event.Compared) {
	if c.Action == event.None || c.Action == event.Unknown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.secrets == nil {
		p.secrets = map[object.Key]Outcome{}
	}
	p.secrets[c.Ref.Key()] = OutcomeOf(c)
}

// Contested reports whether a path is contested, which ends an apply.
func (p *Plan) Contested() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.contested
}
