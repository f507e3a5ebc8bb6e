package setrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// Run is one run on a set: an apply or a diff. Server, Namespace and Emit are required.
type Run struct {
	Server store.Server
	// Namespace is the namespace of the parent, if the parent's kind has one.
	Namespace string
	DryRun    object.DryRun
	Manager   string
	// Ask asks the user to confirm the deletion of the doomed members; doubt is the reason for
	// asking. Ask is nil if no user can be asked.
	Ask func(ctx context.Context, d applyset.Decision, doubt string) (bool, error)
	// Approve is called before the first write, once the members to prune are known. An error ends
	// the run. Approve may be nil.
	Approve func(ctx context.Context, d applyset.Decision) error
	// Shown is called before the first write with the members to prune. It may be nil.
	Shown func(d applyset.Decision)
	// Delete deletes the doomed members and waits until they are gone. It returns the members that
	// were kept.
	Delete func(ctx context.Context, set *store.Set, d applyset.Decision) (stayed []applyset.Kept, err error)
	// Lock locks the set; nil if nothing is written. It creates the namespace of the parent with
	// the callback (brings), which may be nil.
	Lock func(ctx context.Context, parent object.Ref, brings func(context.Context) error) error
	// Former returns the kinds and namespaces of members in the history. It is called only if the
	// set has no parent, and may be nil.
	Former func(ctx context.Context, parent object.Ref) (applyset.Promise, error)
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	options Options
	set     *store.Set
	// shown is the decision on what to prune, as made before the first write.
	input []applyset.Input
	shown applyset.Decision

	// promised is the promise as it was before the run added the kinds and namespaces of the input.
	// upcoming lists the kinds in the input that were not served at that time.
	promised applyset.Promise
	upcoming []schema.GroupKind

	mu     sync.Mutex
	joined map[object.Key]*event.Joined
	// named is nil before the run begins.
	named *names
	// recalled means that the set still has members although its parent was deleted.
	recalled bool
	// isNew means that the run has created the parent; reported, that it has reported so.
	isNew, reported bool
	made            object.Key
}

// Begin finds the set and makes the objects of the plan its members. If the run prunes, it may ask
// for confirmation. It writes the parent before any object of the plan, so that the promise covers
// old and new members. Do not call Begin for a run without a set.
func (o Options) Begin(ctx context.Context, r *Run, p *plan.Plan) error {
	var err error
	r.options = o
	r.named = &names{known: map[string]object.Ref{}, find: func(id string, member object.Ref) object.Ref {
		return store.FindByID(ctx, r.Server, id, []object.Ref{member})
	}}
	if r.set, err = store.Find(ctx, r.Server, o.Name, r.Namespace); err != nil {
		return err
	}
	early := r.Approve != nil && r.brings(p) != nil
	if early {
		if err := r.settle(ctx, p); err != nil {
			return err
		}
	}
	if err := r.lock(ctx, p); err != nil {
		return err
	}
	switch {
	case !early:
		err = r.settle(ctx, p)
	case r.set.Exists:
		err = object.Hinted("run diff again, and confirm what it shows",
			"%s: nothing was written: another run has created the set in the meantime", r.set.Record.Parent)
	}
	if err != nil {
		return err
	}
	isNew := !r.set.Exists && !r.recalled && r.DryRun == object.DryRunNone
	if err := r.grow(ctx, p); err != nil {
		return err
	}
	r.isNew = isNew
	return nil
}

// Abandon deletes the parent if this run has created it and no object has become a member, and
// reports whether it did. Otherwise a run that is refused as a whole would leave an empty set behind.
func (r *Run) Abandon(ctx context.Context) bool {
	if !r.isNew || r.reported || ctx.Err() != nil {
		return false
	}
	// The parent's version shows that no other run has used the set.
	how := object.Deletion{UID: r.set.Live.GetUID(), ResourceVersion: r.set.Live.GetResourceVersion()}
	_, err := r.Server.Delete(ctx, r.set.Kind, r.set.Record.Parent, how)
	return err == nil || apierrors.IsNotFound(err)
}

// settle returns an error if the run is not allowed to make its changes.
func (r *Run) settle(ctx context.Context, p *plan.Plan) error {
	if err := r.check(p); err != nil {
		return err
	}
	if err := r.label(p); err != nil {
		return err
	}
	if err := r.recall(ctx); err != nil {
		return err
	}
	r.promised = r.set.Record.Promise
	if r.options.Prune {
		var err error
		if r.shown, err = r.decide(ctx); err != nil {
			return err
		}
		if blind := r.set.Blind(r.promise()); blind != "" {
			r.Emit(event.Warned{Ref: r.set.Record.Parent, Text: blind})
		}
		if r.Shown != nil {
			r.Shown(r.shown)
		}
		if err := r.confirm(ctx); err != nil {
			return err
		}
	}
	if r.Approve != nil {
		return r.Approve(ctx, r.shown)
	}
	return nil
}

// brings returns a function that creates the namespace of the set, which the lock needs. It returns
// nil if the set exists or the namespace is not in the plan.
func (r *Run) brings(p *plan.Plan) func(context.Context) error {
	if r.Lock == nil || r.set.Exists || !has(p, namespaceKey(r.set.Record.Parent.Namespace)) {
		return nil
	}
	return r.makeNamespace
}

func (r *Run) lock(ctx context.Context, p *plan.Plan) error {
	if r.Lock == nil {
		return nil
	}
	if err := r.Lock(ctx, r.set.Record.Parent, r.brings(p)); err != nil {
		return err
	}
	live, err := r.Server.Get(ctx, r.set.Kind, r.set.Record.Parent)
	switch {
	case apierrors.IsNotFound(err):
		r.set.Forget()
		return nil
	case err != nil:
		return err
	}
	return r.set.Load(ctx, live)
}

// Set returns the set; nil before Begin.
func (r *Run) Set() *store.Set { return r.set }

// check returns an error if the set cannot be written or cannot contain the input.
func (r *Run) check(p *plan.Plan) error {
	parent := r.set.Record.Parent
	builtin := applyset.MayBeParent(parent.GVK.GroupKind())
	switch {
	case !r.set.Exists && !builtin:
		return object.Hinted("create it first: only you know its spec",
			"%s does not exist, and only a Secret or a ConfigMap is created automatically", parent)
	case r.set.Exists && builtin && r.set.Record.IsNew() && !r.options.adopt:
		return object.Hinted("choose another name for the set, or use this object with --allow-join",
			"%s already exists and is not a set", parent)
	}
	if err := r.set.Record.Check(); err != nil {
		return err
	}
	for it := range p.Items() {
		if it.Key() == parent.Key() {
			return object.Hinted("remove it from the input, or choose another name for the set",
				"%s: %s is the parent of the set and cannot be a member", it.Source, it.Ref)
		}
	}
	return nil
}

// label adds the label to each object to be applied, so that the run owns the label. An object with
// the label of another set causes an error.
func (r *Run) label(p *plan.Plan) error {
	id := r.set.ID()
	var faults []error
	for _, ph := range p.Phases {
		for i, it := range ph.Items {
			if verbs := it.Kind.Verbs; len(verbs) > 0 && !slices.Contains(verbs, "list") {
				continue // The server does not store such an object.
			}
			if other := it.Object.GetLabels()[applyset.PartOfLabel]; other != "" && other != id {
				faults = append(faults, object.Hinted("remove the label from the manifest; apply adds it",
					"%s: %s: its label %s says that it is part of another set", it.Source, it.Ref, applyset.PartOfLabel))
				continue
			}
			ph.Items[i].Object = object.WithLabel(it.Object, applyset.PartOfLabel, id)
			if it.Kind.Resource == "" {
				r.upcoming = append(r.upcoming, it.GVK.GroupKind())
			}
			r.input = append(r.input, applyset.Input{Ref: it.Ref, Resource: it.Kind.Resource})
		}
	}
	return errors.Join(faults...)
}

func (r *Run) decide(ctx context.Context) (applyset.Decision, error) {
	return r.set.Decide(ctx, applyset.Set{Parent: r.set.Record.Parent, Manager: r.Manager, Input: r.input, Allow: r.options.allow})
}

// Covers returns what the digest of a plan covers in addition to the objects and the cluster. r is
// nil for a plan without a set.
func Covers(manager string, r *Run) []string {
	if r == nil {
		return []string{manager}
	}
	return []string{manager, r.set.ID()}
}

// OnCluster adds the cluster to what a digest covers. A cluster without a UID adds nothing: any
// cluster that is alike confirms the digest.
func OnCluster(covers []string, c event.Cluster) []string {
	if c.UID == "" {
		return covers
	}
	return append(slices.Clone(covers), "cluster "+string(c.UID))
}

// Made reports whether key is the namespace that this run created for the parent; false for a nil
// Run.
func (r *Run) Made(key object.Key) bool { return r != nil && key == r.made }

// Admit refuses an existing object that is not yet a member and belongs to another owner.
func (r *Run) Admit(item plan.Item, live *unstructured.Unstructured) error {
	id := r.set.ID()
	if live.GetLabels()[applyset.PartOfLabel] == id || item.Key() == r.made {
		return nil
	}
	joined := &event.Joined{Set: r.set.Name()}
	claims := applyset.Claims(live, id)
	r.named.fill(claims, item.Ref)
	for _, c := range claims {
		joined.From = append(joined.From, c.String())
	}
	if len(claims) > 0 && !r.options.adopt {
		return object.Hinted("--allow-join lets it join this set; first stop the other owner from applying it, or both will keep changing it",
			"it belongs to %s (%s)", strings.Join(joined.From, " and "), claims[0].Mark)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.joined == nil {
		r.joined = map[object.Key]*event.Joined{}
	}
	r.joined[item.Key()] = joined
	return nil
}

// Mark records in a result whether an existing object joined the set. The first result after which
// the set may have a member also reports a new set.
func (r *Run) Mark(e event.Event) event.Event {
	if a, ok := e.(event.Applied); ok && r.isNew && !r.reported && mayBeMember(a.Action) {
		r.reported = true
		r.Emit(event.SetBegun{Parent: r.set.Record.Parent})
	}
	if a, ok := e.(event.Applied); ok && (a.Action == event.Configured || a.Action == event.Shared || a.Action == event.Unchanged) {
		r.mu.Lock()
		a.Joined = r.joined[a.Ref.Key()]
		r.mu.Unlock()
		if a.Ref.Key() == r.made {
			a.Action = event.Created
		}
		return a
	}
	return e
}

// mayBeMember reports whether an object may be a member after an apply with this result.
func mayBeMember(a event.Action) bool {
	return a != event.Failed && a != event.InConflict && a != event.Skipped
}

// End prunes and then shrinks the promise, or reports why nothing is pruned. applied is the result
// of the apply. leftOut means that some of the input was skipped.
func (r *Run) End(ctx context.Context, applied error, leftOut bool) error {
	err := r.end(ctx, applied, leftOut)
	if applied != nil {
		r.withdraw(ctx)
	}
	r.checkParent(ctx)
	return err
}

func (r *Run) end(ctx context.Context, applied error, leftOut bool) error {
	if !r.options.Prune {
		return applied
	}
	if why := whyNot(ctx, applied, leftOut); why != "" {
		if n := len(r.shown.Doomed); n > 0 {
			stay := "are no longer in the input, but stay"
			if n == 1 {
				stay = "is no longer in the input, but stays"
			}
			r.Emit(event.Warned{Ref: r.set.Record.Parent, Text: fmt.Sprintf("nothing was pruned: %s; %s %s in %s", why, text.Count(n, "object"), stay, r.set.Name())})
		}
		return applied
	}
	if r.DryRun != object.DryRunNone || !r.set.Exists {
		_, err := r.prune(ctx, r.shown)
		return err
	}
	if len(r.shown.Doomed)+len(r.shown.Kept) == 0 && r.remainingPromise(r.shown).Equal(r.set.Record.Promise) {
		return nil
	}
	// The members may have changed since they were shown.
	decided, err := r.decide(ctx)
	if err != nil {
		return err
	}
	now := decided.Within(r.shown)
	stayed, err := r.prune(ctx, now)
	if err != nil {
		return err
	}
	now.Kept = append(now.Kept, stayed...)
	left := r.remainingPromise(now)
	if left.Equal(r.set.Record.Promise) {
		return nil
	}
	err = r.set.Write(ctx, left, false)
	// After a conflict, the promise stays as it is, because another run has extended it. A promise
	// that is too large only costs extra LIST requests.
	if err != nil && !apierrors.IsConflict(err) {
		r.Emit(event.Warned{Ref: r.set.Record.Parent, Text: fmt.Sprintf("the objects were pruned, but the parent still lists their kinds: %v; the next prune will correct that", err)})
	}
	return nil
}

// whyNot returns the reason not to prune; empty if the run may prune.
func whyNot(ctx context.Context, applied error, leftOut bool) string {
	switch {
	case applied != nil && errors.Is(context.Cause(ctx), context.Canceled):
		return "the run was interrupted"
	case errors.As(applied, new(*wait.UnmetError)):
		return "not everything is ready"
	case applied != nil && ctx.Err() != nil: // timeout or lost lock
		return "the run ended early"
	case applied != nil:
		return "not everything was applied"
	case leftOut:
		return "some of the input was skipped"
	}
	return ""
}

// prune returns the doomed members that were kept after all.
func (r *Run) prune(ctx context.Context, d applyset.Decision) ([]applyset.Kept, error) {
	for _, k := range d.Kept {
		if k.Reason != applyset.Copied {
			r.Emit(event.Applied{Ref: k.Ref, Action: event.Kept, Departed: true, DryRun: r.DryRun != object.DryRunNone, Reason: k.Text()})
		}
	}
	if len(d.Doomed) == 0 {
		return nil, nil
	}
	return r.Delete(ctx, r.set, d)
}
