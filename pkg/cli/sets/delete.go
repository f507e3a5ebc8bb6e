package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/causes"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/removal"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type setsDeleteFlags struct {
	allow   []string
	confirm setrun.ConfirmFlags
	lock    setrun.LockFlags
	causes  causes.Flag
	dryRun  string
	output  string
}

type setsDeleteOptions struct {
	name    string
	allow   []schema.GroupKind
	confirm setrun.ConfirmFlags
	within  time.Duration
	dryRun  object.DryRun
	endsFor func(event.Cause) time.Duration
	ask     func(context.Context, applyset.Decision, string) (bool, error)
	run     string
	out     *printer.Printer
}

func newSetsDelete(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags setsDeleteFlags
	cmd := &cobra.Command{
		Use:   "delete [KIND[.GROUP]/]NAME",
		Short: "Delete all members of a set, and then its parent",
		Long: `Delete the members of a set in reverse apply order, then its parent once all of
them are gone, and finally its history and its Lease. Objects that a prune would
keep are kept, and then the parent is kept too.

Exit status: 0 gone, 1 still there or not confirmed, 2 could not tell.`,
		Example: `  # Delete the set shop and everything in it
  kubectl k8sconnect sets delete shop -n shop --yes`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completion.Sets(c),
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	flags.confirm.Add(cmd.Flags())
	flags.lock.Add(cmd.Flags())
	cmd.Flags().StringSliceVar(&flags.allow, "prune-allow", nil,
		"Also delete objects of this KIND: CustomResourceDefinition, Namespace or PersistentVolumeClaim. Repeatable")
	verb.DryRunFlag(cmd.Flags(), &flags.dryRun, "none, server (ask the server what would happen) or client (only read what exists)")
	flags.causes.Add(cmd, "On by default if stderr is not a terminal; --fail-on-cause= turns it off", stuck.Lastings())
	verb.OutputFlag(cmd, &flags.output, printer.Formats(printer.OfDelete), "")
	return cmd
}

func (f *setsDeleteFlags) toOptions(in verb.Invocation) (*setsDeleteOptions, error) {
	_, _, nameErr := applyset.ParseName(in.Args[0])
	allow, allowErr := setrun.Allowed(f.allow)
	within, lockErr := f.lock.Within(in.Cmd.Flags().Changed, true)
	dryRun, dryRunErr := verb.DryRunOf(f.dryRun)
	endsFor, causesErr := f.causes.EndsFor(in.Cmd.Flags().Changed, verb.IsUnattended(in.Streams))
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	print.DryRun = dryRun != object.DryRunNone
	out, outErr := printer.For(printer.OfDelete, print)
	o := &setsDeleteOptions{
		name: in.Args[0], allow: allow, confirm: f.confirm, within: within, dryRun: dryRun, endsFor: endsFor,
		ask: setrun.Asking(in.Streams, out.Pause), run: print.Run, out: out,
	}
	return o, errors.Join(nameErr, allowErr, f.confirm.Check(), lockErr, dryRunErr, causesErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *setsDeleteOptions) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in.Connection)
	err = verb.Finish(err, o.out.Close(ctx))
	fmt.Fprint(in.Streams.ErrOut, o.confirm.Offer())
	return err
}

func (o *setsDeleteOptions) work(ctx context.Context, c *connection.Connection) error {
	var lock *setrun.Locking
	if o.dryRun == object.DryRunNone {
		lock = setrun.New(c, o.run, o.within, o.out.Print)
	}
	client, err := c.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return err
	}
	set, err := store.Must(ctx, client, o.name, namespace)
	if gone, absent := errors.AsType[*store.AbsentError](err); absent {
		return o.leftover(ctx, client, gone, lock)
	}
	if err != nil {
		return err
	}
	if err := set.Record.Check(); err != nil {
		return err
	}
	held := ctx
	if lock != nil {
		if held, err = lock.Hold(ctx, client, set.Record.Parent, nil); err != nil {
			return err
		}
		defer lock.Release(ctx)
		// Another run may have changed the set while this run waited for the lock.
		if set, err = store.Must(ctx, client, o.name, namespace); err != nil {
			return err
		}
		if err := set.Record.Check(); err != nil {
			return err
		}
	}
	if err := o.delete(held, c, client, set); err != nil || lock == nil {
		return err
	}
	return o.forget(ctx, held, client, set.Record.Parent, lock)
}

// leftover removes the history and the Lease if an earlier run was killed after it had deleted the
// parent.
func (o *setsDeleteOptions) leftover(ctx context.Context, client *client.Client, gone *store.AbsentError, lock *setrun.Locking) error {
	_, err := client.Get(ctx, setrun.LeaseKind(), setrun.LeaseOf(gone.Parent))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return gone
	case err != nil:
		return err
	case lock == nil:
		return nil
	}
	held, err := lock.Hold(ctx, client, gone.Parent, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	// Another run may have recreated the set.
	if _, err := store.Must(ctx, client, o.name, gone.Parent.Namespace); !errors.As(err, new(*store.AbsentError)) {
		return cmp.Or(err, fmt.Errorf("%s: %w", gone.Parent, errBegunAnew))
	}
	return o.forget(ctx, held, client, gone.Parent, lock)
}

var errBegunAnew error = &object.HintedError{
	Err: errors.New("another run has created the set again in the meantime"), Advice: "run this again to delete the new set",
}

// forget removes the history of the set, and then its Lease. The Lease is last, so that the command
// can be repeated if it is killed.
func (o *setsDeleteOptions) forget(ctx, held context.Context, client *client.Client, parent object.Ref, lock *setrun.Locking) error {
	keeper := setrun.Keeper{Server: client, Parent: parent, Emit: o.out.Print}
	if err := keeper.Remove(held); err != nil {
		return fmt.Errorf("%s: the set was deleted, but its history was not: %w", parent, err)
	}
	lock.Release(ctx)
	err := lock.Remove(ctx, client)
	if apierrors.IsForbidden(err) {
		o.out.Print(event.Warned{Ref: setrun.LeaseOf(parent), Text: "is kept, because you are not allowed to delete it: " + err.Error()})
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: the set was deleted, but its Lease was not: %w", parent, err)
	}
	return nil
}

// delete deletes the members of the set. It also deletes the parent, unless members are kept.
func (o *setsDeleteOptions) delete(ctx context.Context, c *connection.Connection, client *client.Client, set *store.Set) error {
	decision, err := set.Decide(ctx, applyset.Set{Parent: set.Record.Parent, Allow: o.allow})
	if err != nil {
		return err
	}
	if blind := set.Blind(applyset.Promise{}); blind != "" {
		o.out.Print(event.Warned{Ref: set.Record.Parent, Text: blind})
	}
	if err := o.confirm.Confirm(ctx, set.Record.Parent, decision, o.dryRun, o.ask); err != nil {
		return err
	}
	kept := 0
	for _, k := range decision.Kept {
		if k.Reason != applyset.Copied {
			kept++
			if k.Reason != applyset.NotAllowed {
				o.out.Print(event.Warned{Ref: k.Ref, Text: "is kept: " + k.Text()})
			}
		}
	}
	if protected := setrun.Protected(decision); protected != "" {
		o.out.Print(event.Warned{Text: protected})
	}
	departing, err := setrun.Order(ctx, client, set, decision)
	if err != nil {
		return err
	}
	phases := departing.Phases
	if kept == 0 {
		parent := deletion.Item{
			Ref: set.Record.Parent, UID: set.Live.GetUID(),
			Stays: func(live *unstructured.Unstructured) string { return parentStays(set, live, len(departing.Stayed())) },
		}
		phases = append(phases, deletion.Phase{Name: "parent", Sets: []deletion.Set{{
			Kind: set.Kind, Selection: object.Selection{Namespace: parent.Ref.Namespace}, Items: []deletion.Item{parent},
		}}})
	}
	parentKept := false
	emit := func(e event.Event) {
		if d, ok := e.(event.Deleted); ok && d.Action == event.Kept && d.Ref == set.Record.Parent {
			parentKept = true
		}
		o.out.Print(e)
	}
	engine := deletion.Engine{DryRun: o.dryRun, Emit: emit, EndsFor: o.endsFor}
	if err := removal.Members(ctx, c, o.run, client, &engine, phases); err != nil {
		return err
	}
	if kept > 0 {
		o.out.Print(event.Warned{Text: fmt.Sprintf("%s is kept, with %s", set.Record.Parent, text.Count(kept, "member"))})
	}
	if kept > 0 || parentKept {
		return verb.ErrNo
	}
	return nil
}

// parentStays returns the reason to keep the live parent; empty if it may be deleted.
func parentStays(set *store.Set, live *unstructured.Unstructured, stayed int) string {
	switch {
	case stayed > 0:
		return "it still has " + text.Count(stayed, "member")
	case !applyset.Read(live).Promise.Equal(applyset.Read(set.Live).Promise):
		return "another run has changed the set's list of kinds and namespaces in the meantime: run this again"
	}
	return ""
}
