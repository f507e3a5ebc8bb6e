package apply

import (
	"slices"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// record contains the results of a run's objects. The zero value is empty and safe for concurrent
// use.
type record struct {
	mu      sync.Mutex
	outcome Outcome
	// blocked means that Admit refused an object before its phase was written.
	blocked bool
	actions map[object.Key]event.Action
	// aliases maps the current keys of objects to their keys in the plan.
	aliases map[object.Key]object.Key
}

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

// refused counts an object that the server refused or, if unknown is set, an object whose result is
// unknown.
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

// isBarred reports whether Admit refused an object.
func (r *record) isBarred() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocked
}

// counts returns how many objects were not applied.
func (r *record) counts() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// alias maps an object's key to its key in the plan. The plan does not have the namespace of an
// object whose kind was unknown.
func (r *record) alias(key, planned object.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aliases == nil {
		r.aliases = map[object.Key]object.Key{}
	}
	r.aliases[key] = planned
}

// action returns the result of an object; empty if the object has no result yet.
func (r *record) action(key object.Key) event.Action {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actions[key]
}

// there reports whether the object was applied, with or without a change.
func (r *record) there(key object.Key) bool {
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
