// Package stuck implements the verb stuck, which explains why objects that are being deleted do
// not go away.
package stuck

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

type stuckFlags struct {
	allNamespaces bool
	selector      string
	set           target.Flags
	output        string
}

type stuckOptions struct {
	targets    target.Targets
	everything bool
	run        string
	out        *printer.Printer
}

// New returns the verb stuck.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags stuckFlags
	cmd := &cobra.Command{
		Use:   "stuck [TYPE/NAME… | TYPE [NAME…]]",
		Short: "Explain why terminating objects do not go away",
		Long: `Explain why objects that are being deleted still exist: the cause, the evidence
for it, the next command, and its risk. Nothing is changed.

Without a TYPE, the command explains everything that is terminating. It prints
each cause once, with all objects that the cause blocks. Without -n, it searches
the whole cluster if you are allowed to list Pods in all namespaces.

Exit status: 0 nothing is stuck, 1 something is, 2 could not tell.`,
		Example: `  # Why does this namespace still exist?
  kubectl k8sconnect stuck namespace shop

  # What is stuck in the cluster, and why?
  kubectl k8sconnect stuck -A`,
		ValidArgsFunction: completion.Targets(c),
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "All namespaces, and cluster-scoped objects")
	cmd.Flags().StringVarP(&flags.selector, "selector", "l", "", "Label selector, such as app=web,tier!=cache")
	flags.set.AddSet(cmd)
	verb.OutputFlag(cmd, &flags.output, printer.Formats(printer.OfStuck), "")
	return cmd
}

func (f *stuckFlags) toOptions(in verb.Invocation) (*stuckOptions, error) {
	o := &stuckOptions{everything: len(in.Args) == 0 && f.set.Set == ""}
	var targetsErr error
	switch {
	case f.set.Set != "":
		f.set.AllNamespaces, f.set.Selector = f.allNamespaces, f.selector
		o.targets, targetsErr = f.set.ToTargets(in.Args, in.Streams)
	case o.everything:
		o.targets = target.Targets{Labels: f.selector, Everywhere: f.allNamespaces}
		targetsErr = verb.Selector(f.selector)
	default:
		// A TYPE without a name selects all its objects, because the verb is read-only.
		named := len(in.Args) > 1 || strings.Contains(in.Args[0], "/")
		all := target.Flags{AllNamespaces: f.allNamespaces, All: f.selector == "" && !named}
		all.Selector = f.selector
		o.targets, targetsErr = all.ToTargets(in.Args, in.Streams)
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfStuck, print)
	return o, errors.Join(targetsErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *stuckOptions) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in.Connection)
	return verb.Finish(err, o.out.Close(ctx))
}

func (o *stuckOptions) work(ctx context.Context, c *connection.Connection) error {
	client, err := c.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	reader := client.NoRetry()
	only, err := o.widen(ctx, c, client)
	if err != nil {
		return err
	}
	explainer := &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: reader, Now: client.Now}}
	scopes, named, err := o.scopes(ctx, c, client)
	if err != nil {
		return err
	}
	if only != "" && slices.ContainsFunc(scopes, func(s stuck.Scope) bool { return s.Selection.Namespace == only }) {
		o.out.Print(event.Warned{Text: "only the namespace " + only + " is searched, because you are not allowed to list Pods in all namespaces; choose another with -n"})
	}
	var found []stuck.Explained
	var kinds []event.Unread
	var unread error
	for _, scope := range scopes {
		_, explained, err := explainer.Survey(ctx, scope)
		if partly, ok := errors.AsType[*stuck.UnreadError](err); ok {
			kinds = append(kinds, partly.Unread...)
		} else if err != nil {
			return err
		}
		found = append(found, explained...)
	}
	var faults []event.Stuck
	for _, t := range named {
		one, err := explainOne(ctx, reader, explainer, t, o.out)
		if err != nil {
			ref := object.Ref{GVK: t.Kind.GVK, Namespace: t.Namespace, Name: t.Name}
			err = target.Explained(ctx, client, ref, err)
			unread = errors.Join(unread, err)
			faults = append(faults, event.Stuck{Ref: ref, Err: err})
			continue
		}
		found = append(found, one...)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	needs := "reading them requires the verb list; see: " + command.Kubectl("auth", "can-i") + " --list. With a TYPE or TYPE/NAME, nothing else is read"
	if err := survey.Unread(kinds, needs, c.Verbosity > 0); err != nil {
		unread = errors.Join(err, unread)
	}
	if len(found)+len(faults) == 0 && unread == nil {
		warnOfMissing(ctx, client, scopes, o.out.Print)
	}
	if len(found)+len(faults) > 0 || unread == nil {
		o.report(found, faults, len(scopes) > 0)
	}
	isStuck := func(one stuck.Explained) bool { return len(one.Causes) == 0 || one.Causes[0].Code != stuck.Progressing }
	// A stuck object decides the exit status. Anything unread matters only if none is stuck.
	if !slices.ContainsFunc(found, isStuck) {
		return unread
	}
	if unread != nil {
		for _, err := range verb.Flatten(unread) {
			o.out.Print(event.Warned{Text: err.Error()})
		}
	}
	return verb.ErrNo
}

func warnOfMissing(ctx context.Context, client *client.Client, scopes []stuck.Scope, emit func(event.Event)) {
	for _, scope := range scopes {
		if scope.Selection.Namespace == "" {
			continue
		}
		if missing := target.MissingNamespace(ctx, client, scope.Selection.Namespace); missing != "" {
			emit(event.Warned{Text: missing})
			return
		}
	}
}

// report prints the causes of each stuck object. If the user named no objects, report also prints
// each cause with its objects.
func (o *stuckOptions) report(found []stuck.Explained, faults []event.Stuck, rooted bool) {
	o.out.Print(event.Planned{})
	for _, one := range found {
		o.out.Print(event.Stuck{Ref: one.Ref, Since: one.Since, Causes: one.Causes})
	}
	for _, fault := range faults {
		o.out.Print(fault)
	}
	if !rooted {
		return
	}
	for _, root := range stuck.Roots(found) {
		o.out.Print(event.Rooted{Cause: root.Cause, Holds: root.Holds})
	}
}

// If the user gave no namespace, widen makes the search cover all namespaces. If the user is not
// allowed to list Pods in all of them, widen returns the only namespace to search.
func (o *stuckOptions) widen(ctx context.Context, c *connection.Connection, client *client.Client) (only string, err error) {
	namespace, asked, err := c.Namespace()
	if err != nil || asked || o.targets.Everywhere || !o.everything && len(o.targets.Types) == 0 {
		return "", err
	}
	pods := object.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Resource: "pods", Namespaced: true}
	if o.targets.Everywhere, err = client.Permitted(ctx, pods, object.Ref{}, "list"); err != nil || o.targets.Everywhere {
		return "", err
	}
	return namespace, nil
}

func (o *stuckOptions) scopes(ctx context.Context, c *connection.Connection, client *client.Client) (scopes []stuck.Scope, named []target.Target, err error) {
	if o.everything {
		return o.everywhere(ctx, c, client)
	}
	found, err := o.targets.Resolve(ctx, c, client)
	for _, t := range found {
		if t.Name != "" {
			named = append(named, t)
			continue
		}
		at := slices.IndexFunc(scopes, func(s stuck.Scope) bool { return s.Selection == t.Selection })
		if at < 0 {
			at = len(scopes)
			scopes = append(scopes, stuck.Scope{Selection: t.Selection})
		}
		scopes[at].Kinds = append(scopes[at].Kinds, t.Kind)
	}
	return scopes, named, err
}

// everywhere returns the scopes for a search of all kinds. For a single namespace, these include
// the namespace itself.
func (o *stuckOptions) everywhere(ctx context.Context, c *connection.Connection, client *client.Client) ([]stuck.Scope, []target.Target, error) {
	sel := object.Selection{Labels: o.targets.Labels}
	if o.targets.Everywhere {
		return []stuck.Scope{{Selection: sel}}, nil, nil
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, nil, err
	}
	kind, err := client.Resource(ctx, "namespaces")
	if err != nil {
		return nil, nil, err
	}
	sel.Namespace = namespace
	itself := object.Selection{Name: namespace, Labels: o.targets.Labels}
	return []stuck.Scope{{Selection: sel}, {Kinds: []object.Kind{kind}, Selection: itself}}, nil, nil
}

// explainOne explains why one object is stuck. It returns an error if the object does not exist,
// and warns if the object is not being deleted.
func explainOne(ctx context.Context, reader *client.NoRetry, e *stuck.Explainer, t target.Target, out *printer.Printer) ([]stuck.Explained, error) {
	live, err := reader.Get(ctx, t.Kind.GVK, t.Namespace, t.Name)
	switch {
	case err != nil:
		return nil, err
	case live == nil:
		return nil, apierrors.NewNotFound(t.Kind.GVR().GroupResource(), t.Name)
	case live.GetDeletionTimestamp() == nil:
		out.Print(event.Warned{Text: object.RefOf(live).String() + ": its deletion has not been requested"})
		return nil, nil
	}
	causes, err := e.Explain(ctx, t.Kind, live)
	return []stuck.Explained{{Ref: object.RefOf(live), Since: live.GetDeletionTimestamp().Time, Causes: causes}}, err
}
