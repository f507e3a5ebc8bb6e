// Package fights implements the verb fights, which watches the metadata of objects and reports
// those that are rewritten in a loop.
package fights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fights"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

type flags struct {
	everywhere bool
	selector   string
	duration   time.Duration
	status     bool
	output     string
}

type options struct {
	targets    target.Targets
	everything bool
	duration   time.Duration
	status     bool
	run        string
	live       bool
	out        *printer.Printer
}

const usualDuration = time.Minute

// New returns the verb fights.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "fights [TYPE/NAME… | TYPE [NAME…]]",
		Short: "Find objects that are rewritten in a loop, and their writers",
		Long: `Watch objects for a while and find those that are rewritten in a loop: two
owners keep overwriting a field, one writer switches a field back and forth, or
writes change nothing. The command itself changes nothing.

A loop is found if it completes once within --for; at two writes a minute, that
takes 60s. A writer that cannot be identified is shown as "unknown".
Leases, Events, endpoints and the status are ignored. Without -A, only objects
in the namespace are watched.

Exit status: 0 no fights, 1 fights found, 2 could not tell.`,
		Example: `  # All kinds and namespaces
  kubectl k8sconnect fights -A

  # A slow loop: the Deployments in a namespace, for ten minutes
  kubectl k8sconnect fights deployments -n shop --for=10m`,
		ValidArgsFunction: completion.Targets(c),
		RunE:              verb.Runner(c, streams, f.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVarP(&f.everywhere, "all-namespaces", "A", false, "All namespaces, and cluster-scoped objects")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "Label selector, such as app=web,tier!=cache")
	cmd.Flags().DurationVar(&f.duration, "for", usualDuration, "How long to watch, such as 90s or 10m; ^C stops early and reports")
	cmd.Flags().BoolVar(&f.status, "status", false, "Include the status, Leases, Events and endpoints")
	verb.OutputFlag(cmd, &f.output, printer.Formats(printer.OfFights), "")
	return cmd
}

func (f *flags) toOptions(in verb.Invocation) (*options, error) {
	o := &options{everything: len(in.Args) == 0, duration: f.duration, status: f.status}
	all := target.Flags{AllNamespaces: f.everywhere, All: f.selector == "" && !target.NameObjects(in.Args)}
	all.Selector = f.selector
	var targetsErr, forErr error
	if o.everything {
		o.targets = target.Targets{Labels: f.selector, Everywhere: f.everywhere}
		targetsErr = verb.Selector(f.selector)
	} else {
		o.targets, targetsErr = all.ToTargets(in.Args, in.Streams)
	}
	if f.duration < time.Second {
		forErr = errors.New("--for must be 1s or longer")
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run, o.live = print.Run, print.Progress
	var outErr error
	o.out, outErr = printer.For(printer.OfFights, print)
	return o, errors.Join(targetsErr, forErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *options) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in)
	return verb.Finish(err, o.out.Close(ctx))
}

func (o *options) work(ctx context.Context, in verb.Invocation) error {
	const pace = 0 // the server sets the limit
	server, err := in.Connect(ctx, o.run, pace, o.out.Print)
	if err != nil {
		return err
	}
	w := &watch{options: o, server: server, tally: fights.New(o.status)}
	if err := w.places(ctx, in); err != nil {
		return err
	}
	if err := w.follow(ctx); err != nil {
		return err
	}
	interrupted := ctx.Err() != nil
	if interrupted {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
	}
	w.explain(ctx)
	found := w.result()
	w.complete(ctx, found.Found)
	o.out.Print(found)
	missed := w.missed(found, in.Verbosity > 0)
	switch {
	case len(found.Found) > 0:
		for _, err := range missed {
			o.out.Print(event.Warned{Text: err.Error()})
		}
		return verb.ErrNo
	case len(missed) > 0:
		return errors.Join(missed...)
	case interrupted:
		return &shortError{found.For, o.duration}
	}
	return nil
}

// missed returns why fights may have gone unnoticed.
func (w *watch) missed(found event.Fights, verbose bool) (errs []error) {
	if unread := survey.Unread(found.Unread, "watching them needs the verbs list and watch; see: "+command.Kubectl("auth", "can-i")+" --list", verbose); unread != nil {
		errs = append(errs, unread)
	}
	if found.Uncounted != nil {
		errs = append(errs, &uncountedError{found.Uncounted})
	}
	return errs
}

type shortError struct{ after, of time.Duration }

func (e *shortError) Error() string {
	return fmt.Sprintf("after %s of %s", e.after.Round(time.Second), e.of)
}

func (e *shortError) Unwrap() error { return context.Canceled }

// apart reports whether a kind's objects are written all the time. Such a kind is skipped without
// --status.
func apart(group, resource string) bool {
	return slices.Contains([]string{
		"leases.coordination.k8s.io", "leasecandidates.coordination.k8s.io", "events.", "events.events.k8s.io", "endpoints.", "endpointslices.discovery.k8s.io",
	}, resource+"."+group)
}
