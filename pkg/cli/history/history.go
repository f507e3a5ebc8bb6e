// Package history implements the verb history, which shows why a workload rolled, and what the
// webhook recorded about an object.
package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/rollouts"
)

type flags struct {
	deleted    bool
	everywhere bool
	since      verb.Since
	output     string
}

type options struct {
	targets target.Targets
	run     string
	out     *printer.Printer
}

// New returns the verb history.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "history TYPE/NAME… | TYPE NAME… | --deleted [TYPE]",
		Short: "Show why a workload rolled, and who deleted what",
		Long: `Show each revision of a Deployment, StatefulSet or DaemonSet, newest first: the
reason, the paths of the Pod template that changed with their old and new
values, and who changed them. Below them, and for all other kinds, show the
changes of owners and the deletions that the webhook recorded. Nothing is
changed.

With --deleted, list the deletions in the namespace, of one TYPE, or everywhere
with -A, newest first.

Managed fields prove a writer only while its value is unchanged, and only if it
has not written since. Users are known only from the webhook. Everything else is
shown as unknown.

Exit status: 0 shown; 2 could not tell.`,
		Example: `  # Why did it roll, and who did it?
  kubectl k8sconnect history deploy/web -n shop

  # Which revisions were restarts?
  kubectl k8sconnect history deploy/web -o json |
    jq '.objects[].revisions[] | select(.reason == "restart")'

  # Who deleted what in the last hour?
  kubectl k8sconnect history --deleted -A --since=1h`,
		ValidArgsFunction: completion.Targets(c),
		RunE:              verb.Runner(c, streams, f.choose),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&f.deleted, "deleted", false, "List deletions; needs the webhook")
	cmd.Flags().BoolVarP(&f.everywhere, "all-namespaces", "A", false, "With --deleted, all namespaces, and cluster-scoped objects")
	cmd.Flags().Var(&f.since, "since", "With --deleted, only deletions in this last period, or since this time, such as 1h, 2d or 2026-01-31T14:00:00Z")
	verb.OutputFlag(cmd, &f.output, printer.Formats(printer.OfPast), "")
	return cmd
}

func (f *flags) choose(in verb.Invocation) (verb.Options, error) {
	if f.deleted {
		return f.toDeletions(in)
	}
	for _, flag := range []string{"all-namespaces", "since"} {
		if in.Cmd.Flags().Changed(flag) {
			return nil, errors.New("--" + flag + " requires --deleted")
		}
	}
	return f.toOptions(in)
}

func (f *flags) toOptions(in verb.Invocation) (*options, error) {
	o := &options{}
	var targetsErr error
	if len(in.Args) == 0 {
		targetsErr = object.Hinted("write TYPE/NAME, or list what was deleted with --deleted", "no object named")
	} else {
		targetsErr = o.targets.Read(in.Args)
	}
	if targetsErr == nil && len(o.targets.Named) == 0 {
		targetsErr = object.Hinted("write TYPE/NAME", "no object named: %q is read as a TYPE", in.Args[0])
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfPast, print)
	return o, errors.Join(targetsErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *options) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in)
	return verb.Finish(err, o.out.Close(ctx))
}

func (o *options) work(ctx context.Context, in verb.Invocation) error {
	server, err := in.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	found, err := o.targets.Resolve(ctx, in.Connection, server)
	faults := []error{err}
	unknown := false
	for _, t := range found {
		past, err := pastOf(ctx, target.ExplainingReader{Client: server}, t)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			faults = append(faults, err)
		}
		// If the revisions could not be read, or the object is missing, the records are shown before the error.
		if err != nil && past.Records == nil && !past.Missing {
			continue
		}
		o.out.Print(past)
		// An object without revisions has no history but its records.
		unknown = unknown || !past.Rolls && past.Records != nil && past.Records.Err != nil
	}
	if err := errors.Join(faults...); err != nil || !unknown {
		return err
	}
	return verb.ErrUnknown
}

func pastOf(ctx context.Context, reader target.ExplainingReader, t target.Target) (event.Past, error) {
	past := event.Past{Ref: object.Ref{GVK: t.Kind.GVK, Namespace: t.Namespace, Name: t.Name}}
	u, err := reader.Read(ctx, past.Ref)
	if err != nil && !apierrors.IsNotFound(err) {
		return past, err
	}
	if err != nil {
		return missing(ctx, reader, past, err)
	}
	past.Deletions.Found, _ = owners.DeletionsOf(ctx, reader, past.Ref) // The records' error says why they cannot be read.
	past.Records = owners.Past(ctx, reader, reader.Now, u)
	kind, rolls := rollouts.KeptIn(t.Kind.GVK.GroupKind())
	if !rolls {
		return past, nil
	}
	kept, err := keptOf(ctx, reader.Client, kind, u)
	if err != nil {
		return past, unreadRevisions(err, kind, u.GetNamespace())
	}
	recorded := rollouts.Recorded{Transitions: past.Records.Transitions}
	if recorded.Rollouts, err = owners.Rollouts(ctx, reader, u); err != nil {
		return past, err
	}
	revisions, others, err := rollouts.Of(u, kept, recorded)
	if err != nil {
		return past, fmt.Errorf("%s: %w", past.Ref, err)
	}
	past.Rolls, past.Revisions, past.Records.Transitions = true, revisions, others
	return past, nil
}

// missing returns the history of an object that does not exist, and its not-found error unless a deletion
// is recorded.
func missing(ctx context.Context, reader target.ExplainingReader, past event.Past, notFound error) (event.Past, error) {
	var err error
	past.Deletions, err = owners.DeletionsOfMissing(ctx, reader, past.Ref, reader.Now())
	past.Missing = err == nil || len(past.Deletions.Found) > 0
	switch {
	case len(past.Deletions.Found) > 0:
		return past, err
	case err != nil:
		return past, object.Hinted(object.HintOf(err), "%w; it is unknown whether it was deleted: %v", notFound, err)
	}
	return past, notFound
}

// unreadRevisions adds which permission is missing to a failed read of the objects that keep revisions.
func unreadRevisions(err error, kind schema.GroupVersionKind, namespace string) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return object.Hinted("see: "+command.Kubectl("auth", "can-i", "list", resource.GroupResource().String(), "-n", namespace),
		"revisions are unknown: %w", err)
}

// keptOf reads the objects that may keep revisions of a workload. Their labels match its selector,
// as its controller requires.
func keptOf(ctx context.Context, server *client.Client, kind schema.GroupVersionKind, u *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var spec struct {
		Selector *metav1.LabelSelector `json:"selector"`
	}
	raw, _, _ := unstructured.NestedMap(u.Object, "spec", "selector")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"selector": raw}, &spec); err != nil {
		return nil, fmt.Errorf("%s: .spec.selector: %w", object.RefOf(u), err)
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("%s: .spec.selector: %w", object.RefOf(u), err)
	}
	kept := map[types.UID]*unstructured.Unstructured{}
	which := object.Selection{Namespace: u.GetNamespace(), Labels: selector.String()}
	err = server.Select(ctx, kind, which, "", func(one *unstructured.Unstructured) { kept[one.GetUID()] = one })
	return slices.Collect(maps.Values(kept)), err
}
