package sets

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Outcome is what a run comes to, object by object, as a comparison tells it. The zero
// Outcome is that nothing changes. It may be used from many goroutines.
type Outcome struct {
	mu        sync.Mutex
	changes   map[object.Key]string
	contested bool
}

// Contested reports whether a path is contested, which ends an apply.
func (o *Outcome) Contested() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.contested
}

// See takes in one event. Remarks about an object, and the actions of others, are no part of the
// outcome: two reads of one cluster give the same.
func (o *Outcome) See(e event.Event) {
	c, ok := e.(event.Compared)
	if !ok || c.Action == event.None {
		return
	}
	var what string // of a deletion, the name says all
	switch {
	case c.Departed:
	case c.Action == event.Update:
		what = changesOf(c)
	default:
		what = asText(c.After)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.contested = o.contested || slices.ContainsFunc(c.Changes, func(c managedfields.Change) bool { return c.Kind == managedfields.Contested })
	if o.changes == nil {
		o.changes = map[object.Key]string{}
	}
	o.changes[c.Ref.Key()] = string(c.Action) + " " + what
}

// changesOf are the changes of one object, and which of them are contested.
func changesOf(c event.Compared) string {
	var all []string
	for _, change := range c.Changes {
		all = append(all, fmt.Sprintf("%s %s %s %s", change.Kind, change.Path, asText(change.From), asText(change.To)))
	}
	slices.Sort(all)
	return asText(all)
}

// asText writes a value that came from JSON.
func asText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Digest stands for the outcome, and what it is of.
func (o *Outcome) Digest(of ...string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := slices.Clone(of)
	for key, what := range o.changes {
		lines = append(lines, applyset.Line(key, what))
	}
	return applyset.Digest(lines)
}
