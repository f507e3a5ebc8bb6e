package setrun

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// confirm returns nil if the prune may proceed. A dry run needs no confirmation.
func (r *Run) confirm(ctx context.Context) error {
	d := r.shown
	doubt := d.Doubt()
	refusal := &UnconfirmedError{Set: r.set.Record.Parent, Doubt: doubt}
	switch {
	case doubt == "", r.options.yes, r.options.Reviewed:
		return nil
	case r.Ask != nil && r.DryRun == object.DryRunNone:
		yes, err := r.Ask(ctx, d, doubt)
		if yes || err != nil {
			return err
		}
		refusal.Declined = true
	}
	if r.DryRun != object.DryRunNone {
		r.Emit(event.Warned{Ref: r.set.Record.Parent, Text: refusal.Doubt + "; apply refuses that without --yes or --confirm"})
		return nil
	}
	for _, m := range d.Doomed {
		r.Emit(event.Applied{Ref: m.Ref, Action: event.Skipped, Departed: true, Err: errUnconfirmed})
	}
	return refusal
}

// digestOf returns the digest of the set and the doomed objects. A user who confirms this digest
// does not confirm any other deletion.
func digestOf(d applyset.Decision) string {
	var p review.Plan
	SeeDoomed(&p, d)
	return p.Digest("", d.ID)
}

// SeeDoomed adds the deletion of each doomed member to a plan.
func SeeDoomed(p *review.Plan, d applyset.Decision) {
	for _, m := range d.Doomed {
		p.See(event.Compared{Ref: m.Ref, Action: event.Delete, Departed: true, UID: m.UID})
	}
}

var errUnconfirmed = errors.New("it would be pruned, but that was not confirmed")

// UnconfirmedError means that a deletion was not confirmed. Nothing was written.
type UnconfirmedError struct {
	Set   object.Ref
	Doubt string
	// Digest confirms the deletion of a whole set. To confirm a prune, use the digest that diff
	// prints.
	Digest string
	// Declined means that the user was asked and answered no.
	Declined bool
	// all means that a whole set was to be deleted, so there is no input to check.
	all  bool
	kept string
}

// Protected returns a sentence about the members that are kept because of their kind, with the flag
// that would delete them; empty if there are none.
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
		return names[0] + " is kept, because its contents would be deleted with it; " + allow + " deletes it"
	}
	return text.List(names, shown) + " are kept, because their contents would be deleted with them; " + allow + " deletes them"
}

func (e *UnconfirmedError) Error() string { return e.Set.String() + ": nothing was done: " + e.Doubt }

// Unconfirmed marks the error as the plugin's refusal.
func (e *UnconfirmedError) Unconfirmed() bool { return true }

func (e *UnconfirmedError) Hint() string {
	if e.Declined {
		return ""
	}
	advice := "check the input and the name of the set; to confirm, use --yes, or in CI --confirm=DIGEST with the digest that " +
		command.Kubectl("k8sconnect", "diff") + " prints"
	if e.all {
		advice = "check the name of the set; to confirm, use --yes, or in CI --confirm=" + e.Digest
	}
	if e.kept != "" {
		advice += "; " + e.kept
	}
	return advice
}
