package apply

import (
	"slices"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

type record struct {
	mu      sync.Mutex
	outcome Outcome
	blocked bool
	actions map[object.Key]event.Action
	// aliases maps the current keys of objects to their keys in the plan.
	aliases map[object.Key]object.Key
}

func (r *record) setAction(key object.Key, action event.Action) {
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

func (r *record) refused(unknown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if unknown {
		r.outcome.Unknown++
	} else {
		r.outcome.Rejected++
	}
}

func (r *record) bar() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocked = true
}

func (r *record) isBarred() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocked
}

func (r *record) counts() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// alias maps an object's key to its key in the plan, which lacks the namespace if the kind was
// unknown.
func (r *record) alias(key, planned object.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aliases == nil {
		r.aliases = map[object.Key]object.Key{}
	}
	r.aliases[key] = planned
}

func (r *record) action(key object.Key) event.Action {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actions[key]
}

// exists reports whether the object was applied, even if nothing changed.
func (r *record) exists(key object.Key) bool {
	switch r.action(key) {
	case event.Created, event.Configured, event.Recreated, event.Shared, event.Unchanged:
		return true
	default:
		return false
	}
}

// missing returns the first object that the item needs and that this run failed to apply.
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

// created reports whether this run created an object that the item needs.
func (r *record) created(item plan.Item) bool {
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool { return r.action(need) == event.Created })
}
