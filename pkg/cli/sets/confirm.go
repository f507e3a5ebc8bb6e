package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// confirm returns nil if the decision may be carried out. A dry run needs no
// confirmation, and says what a run would need.
func (r *Run) confirm(ctx context.Context) error {
	d := r.shown
	doubt, digest := d.Doubt(), d.Digest()
	refusal := &UnconfirmedError{Set: r.set.Record.Parent, Doubt: doubt, Digest: digest}
	switch {
	case len(d.Doomed) == 0, r.options.digest == digest:
		return nil
	case r.options.digest != "":
		refusal.Doubt = fmt.Sprintf("--confirm=%s is for something else: what would be pruned has changed since", r.options.digest)
	case doubt == "", r.options.yes:
		return nil
	case r.Ask != nil && r.DryRun == object.DryRunNone:
		yes, err := r.Ask(ctx, d, doubt)
		if yes || err != nil {
			return err
		}
		refusal.Declined = true
	}
	if r.DryRun != object.DryRunNone {
		r.Emit(event.Warned{Ref: r.set.Record.Parent, Text: refusal.Doubt + "; apply refuses that without --yes, or --confirm=" + digest})
		return nil
	}
	for _, m := range d.Doomed {
		r.Emit(event.Applied{Ref: m.Ref, Action: event.Skipped, Departed: true, Err: errUnconfirmed})
	}
	return refusal
}

var errUnconfirmed = errors.New("it would be pruned, and that was not confirmed")

// UnconfirmedError says that a prune looks like a mistake and was not confirmed, so
// nothing was done.
type UnconfirmedError struct {
	// Set is the parent of the set.
	Set           object.Ref
	Doubt, Digest string
	// Declined: the user was asked, and said no.
	Declined bool
	// all: a whole set was to be deleted; there is no input that could be wrong.
	all bool
	// kept is what [Protected] says of the decision.
	kept string
}

// Protected names the members that are kept because of their kind, once for all, with the flag
// that deletes them; empty if there are none.
func Protected(d applyset.Decision) string {
	var names, kinds []string
	for _, k := range d.Kept {
		if k.Reason == applyset.NotAllowed {
			names, kinds = append(names, k.Ref.String()), append(kinds, k.Ref.GVK.Kind)
		}
	}
	slices.Sort(kinds)
	allow := "--prune-allow=" + strings.Join(slices.Compact(kinds), ",")
	const shown = 5
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " is kept, because what it holds goes with it; " + allow + " deletes it, too"
	}
	return text.List(names, shown) + " are kept, because what they hold goes with them; " + allow + " deletes them, too"
}

func (e *UnconfirmedError) Error() string { return e.Set.String() + ": nothing was done: " + e.Doubt }

// Unconfirmed marks it as a refusal of ours.
func (e *UnconfirmedError) Unconfirmed() bool { return true }

// Hint says what to do about it.
func (e *UnconfirmedError) Hint() string {
	if e.Declined {
		return ""
	}
	check := "check the input and the name of the set"
	if e.all {
		check = "check the name of the set"
	}
	advice := check + "; to confirm, give --yes, or in CI --confirm=" + e.Digest
	if e.kept != "" {
		advice += "; " + e.kept
	}
	return advice
}

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
