package delete

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/others"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait/timelimit"
)

func (o *deleteOptions) Execute(ctx context.Context, in verb.Invocation) error {
	return o.strict.End(o.delete(ctx, in), in.Warned)
}

func (o *deleteOptions) delete(ctx context.Context, in verb.Invocation) error {
	if o.targets.InFiles {
		if err := o.targets.Files.Read(ctx, in.Connection, in.Streams, o.out.Print); err != nil {
			return verb.Finish(err, o.out.Close(ctx))
		}
	}
	err := o.work(ctx, in.Connection)
	return o.targets.Files.Incomplete(verb.Finish(err, o.out.Close(ctx)))
}

// work deletes the objects. After the first deletion, it waits longer for an unreachable server,
// because the results would otherwise be unknown.
func (o *deleteOptions) work(ctx context.Context, c *connection.Connection) error {
	client, err := c.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return perhapsGone(err)
	}
	ctx = transport.Deleting(ctx)
	phases, err := o.phases(ctx, c, client)
	if err != nil {
		return perhapsGone(err)
	}
	for _, text := range o.warnings {
		o.out.Print(event.Warned{Text: text})
	}
	o.claimed.Absent = others.Absent(ctx, client)
	o.limits.check(phases, o.out.Print)
	o.engine.First = client
	if client, err = c.Patient(verb.ToleratedOutage).Connect(ctx, o.run, 0, o.out.Print); err != nil {
		return err
	}
	o.engine.Server, o.engine.Counter, o.engine.Emit = client, client, o.out.Print
	o.engine.WorthAcross = client.WorthAcross
	if o.explain {
		o.engine.Explainer = &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: client.NoRetry(), Now: client.Now}}
	}
	return o.engine.Run(ctx, phases)
}

// perhapsGone adds a hint if the server never answered: the cluster may no longer exist.
func perhapsGone(err error) error {
	if !errors.As(err, new(*client.UnreachableError)) {
		return err
	}
	advice := "if the cluster no longer exists, nothing is left to delete"
	if hint := object.HintOf(err); hint != "" {
		advice = hint + "; " + advice
	}
	return &object.HintedError{Err: err, Advice: advice}
}

func (o *deleteOptions) phases(ctx context.Context, c *connection.Connection, client *client.Client) ([]deletion.Phase, error) {
	if o.targets.InFiles {
		p, err := o.targets.Files.Order(ctx, c, client, o.out.Print)
		if err != nil {
			return nil, err
		}
		if err := o.targets.Files.InServedVersions(ctx, client, p, o.out.Print); err != nil {
			return nil, err
		}
		phases := deletion.Reverse(p)
		return phases, o.unserved(ctx, client, phases)
	}
	found, err := o.targets.Resolve(ctx, c, client)
	if err != nil {
		return nil, err
	}
	_, enforced, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	for _, t := range found {
		if enforced && !t.Kind.Namespaced {
			o.out.Print(event.Warned{Text: t.Kind.Resource + " have no namespace: -n does not limit what is deleted"})
			break
		}
	}
	return []deletion.Phase{{Name: "objects", Sets: setsOf(found)}}, nil
}

// unserved sets an error on objects of unserved kinds, unless no object of the kind can exist.
func (o *deleteOptions) unserved(ctx context.Context, client *client.Client, phases []deletion.Phase) error {
	for _, ph := range phases {
		for _, s := range ph.Sets {
			if !s.Items[0].Absent {
				continue
			}
			err := surelyNone(ctx, client, s.Items[0].Ref)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for i := range s.Items {
				s.Items[i].Err = err
			}
		}
	}
	return nil
}

// surelyNone returns nil if no object of an unserved kind can exist. Otherwise, it returns the
// reason why one may exist.
func surelyNone(ctx context.Context, c *client.Client, ref object.Ref) error {
	_, err := c.Kind(ctx, ref.GVK)
	missing, ok := errors.AsType[*client.NoKindError](err)
	if err == nil || !ok || missing.Err != nil {
		return err
	}
	if err = c.Gone(ctx, ref.GVK); errors.As(err, &missing) && missing.Err == nil {
		return nil
	}
	return err
}

func setsOf(found []target.Target) []deletion.Set {
	type place struct{ resource, group, namespace string }
	var sets []deletion.Set
	at := map[place]int{}
	for _, t := range found {
		if t.Name == "" {
			sets = append(sets, deletion.Set{Kind: t.Kind, Selection: t.Selection})
			continue
		}
		where := place{t.Kind.Resource, t.Kind.GVK.Group, t.Namespace}
		i, known := at[where]
		if !known {
			i = len(sets)
			at[where] = i
			sets = append(sets, deletion.Set{Kind: t.Kind, Selection: object.Selection{Namespace: t.Namespace}})
		}
		ref := object.Ref{GVK: t.Kind.GVK, Namespace: t.Namespace, Name: t.Name}
		sets[i].Items = append(sets[i].Items, deletion.Item{Ref: ref})
	}
	return sets
}

// longTimeout is for objects whose contents are deleted first.
const longTimeout = 20 * time.Minute

type limits struct {
	usual, long time.Duration
	kinds       timelimit.Limits
}

// parseLimits refuses time limits for conditions, because delete does not wait for conditions.
func parseLimits(timeout time.Duration, given bool, each, standing []string) (limits, error) {
	kinds, err := timelimit.Parse(each)
	l := limits{usual: timeout, long: longTimeout, kinds: kinds}
	if given {
		l.long = timeout
	}
	errs := []error{err}
	for _, one := range kinds {
		if one.Condition != nil {
			errs = append(errs, fmt.Errorf("--timeout-for=%s: delete does not wait for conditions; use KIND=DURATION, such as namespace=30m", one))
		}
	}
	with, err := kinds.With(standing)
	l.kinds = slices.DeleteFunc(with, func(one timelimit.Limit) bool { return one.IsStanding && one.Condition != nil })
	return l, errors.Join(append(errs, err)...)
}

// limit returns the time limit for the deletion of an object of this kind.
func (l limits) limit(kind object.Kind) time.Duration {
	if most, own := l.kinds.Object(kind); own {
		return most
	}
	switch kind.GVK.GroupKind().String() {
	case "Namespace", "CustomResourceDefinition.apiextensions.k8s.io":
		return l.long
	}
	return l.usual
}

func (l limits) check(phases []deletion.Phase, emit func(event.Event)) {
	var kinds []object.Kind
	for _, ph := range phases {
		for _, s := range ph.Sets {
			kinds = append(kinds, s.Kind)
		}
	}
	for _, one := range l.kinds.Idle(kinds) {
		emit(event.Warned{Text: fmt.Sprintf("--timeout-for=%s: the deletion includes no object of that kind", one)})
	}
}
