package apply

import (
	"slices"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// record is what became of the objects of a run so far, for those that need them. The
// zero value is empty. It is safe for concurrent use.
type record struct {
	mu      sync.Mutex
	outcome Outcome
	// blocked: an object was refused by us, before anything of its phase was written.
	blocked bool
	actions map[object.Key]event.Action
	// aliases are the keys by which the plan knows objects that have another one now.
	aliases map[object.Key]object.Key
}

// note records what became of an object.
func (r *record) note(key object.Key, action event.Action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.actions == nil {
		r.actions = map[object.Key]event.Action{}
	}
	if planned, ok := r.aliases[key]; ok {
		key = planned
	}
	r.actions[key] = action
	if action == event.InConflict {
		r.outcome.Conflicts++
	}
}

// refused counts an object that the server refused, or of which nothing can be said.
func (r *record) refused(unknown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if unknown {
		r.outcome.Unknown++
	} else {
		r.outcome.Rejected++
	}
}

// bar records that an object was refused by us.
func (r *record) bar() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocked = true
}

// isBarred reports whether an object was refused by us.
func (r *record) isBarred() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocked
}

// counts returns what kept the run from doing all it was asked to.
func (r *record) counts() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// alias makes what becomes of an object count for the key that the plan knows it
// by: until its kind was known, its namespace was not.
func (r *record) alias(key, planned object.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aliases == nil {
		r.aliases = map[object.Key]object.Key{}
	}
	r.aliases[key] = planned
}

// action returns what became of an object; empty for nothing yet.
func (r *record) action(key object.Key) event.Action {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actions[key]
}

// there reports whether the object was applied, changed or not.
func (r *record) there(key object.Key) bool {
	switch r.action(key) { // All others were not applied.
	case event.Created, event.Configured, event.Recreated, event.Shared, event.Unchanged:
		return true
	default:
		return false
	}
}

// missing returns the first of what the item needs that this run did not get applied.
func (r *record) missing(item plan.Item) (object.Key, event.Action) {
	for _, need := range item.Needs {
		switch action := r.action(need); action {
		case event.Failed, event.Skipped, event.InConflict:
			return need, action
		default:
		}
	}
	return object.Key{}, ""
}

// created reports whether this run has created something that the item needs.
func (r *record) created(item plan.Item) bool {
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool { return r.action(need) == event.Created })
}
