// Package delete implements the verb delete: it selects the objects, and determines how each is
// deleted and how long that may take.
package delete

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/causes"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/others"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

type deleteFlags struct {
	target       target.Flags
	strict       verb.StrictFlags
	cascade      string
	gracePeriod  int
	now, force   bool
	ignoreAbsent bool
	wait         bool
	dryRun       string
	timeout      time.Duration
	timeoutFor   []string
	config       config.Flags
	others       others.Flags
	explain      bool
	stuckAfter   time.Duration
	causes       causes.Flag
	finalizer    string
	yes          bool
	output       string
}

type deleteOptions struct {
	strict   verb.StrictFlags
	targets  target.Targets
	engine   deletion.Engine
	limits   limits
	claimed  others.Collector
	warnings []string
	explain  bool
	run      string
	out      *printer.Printer
}

// New returns the verb delete.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags deleteFlags
	cmd := &cobra.Command{
		Use:   "delete (TYPE/NAME… | TYPE -l SELECTOR | -f FILE)",
		Short: "Delete in reverse apply order, and explain what blocks a deletion",
		Long: `Delete objects in reverse apply order, and watch until they are gone. Each
deletion is bound to the UID of the object: a new object with the same name is
left alone. If deletion stalls, the reason is printed.

Objects are named as TYPE/NAME or as TYPE NAME, selected by a TYPE with -l,
--all or --field-selector, or read from manifests with -f or -k.

Exit status: 0 gone, 1 still there or refused, 2 could not tell.`,
		Example: `  # Delete what was applied from a folder
  kubectl k8sconnect delete -f manifests/

  # Delete a namespace, and explain what blocks its deletion
  kubectl k8sconnect delete namespace shop --timeout=20m

  # As a last resort, remove a finalizer from an object
  kubectl k8sconnect delete widget/old -n shop \
    --remove-finalizer=example.com/clean-up`,
		ValidArgsFunction: completion.Targets(c),
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	flags.add(cmd, c)
	return cmd
}

func (f *deleteFlags) add(cmd *cobra.Command, c *connection.Connection) {
	f.target.Add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.cascade, "cascade", "background", "How to handle dependents: background, foreground or orphan")
	flags.Lookup("cascade").NoOptDefVal = "background"
	flags.IntVar(&f.gracePeriod, "grace-period", -1, "Seconds for graceful termination, if the kind supports it; a negative value selects the object's own period; 0 requires --force")
	flags.BoolVar(&f.now, "now", false, "The same as --grace-period=1")
	flags.BoolVar(&f.force, "force", false, "Do not wait for a Pod's node to confirm that the Pod has stopped; its processes may keep running")
	flags.BoolVar(&f.ignoreAbsent, "ignore-not-found", false, "Treat absent objects as success; the default if a TYPE selects them")
	flags.BoolVar(&f.wait, "wait", true, "Wait until everything is gone")
	f.strict.Add(flags)
	f.config.Add(cmd)
	f.others.Add(cmd)
	verb.DryRunFlag(flags, &f.dryRun, "none, server (ask the server what would happen) or client (only read what exists)")
	flags.DurationVar(&f.timeout, "timeout", verb.UsualTimeout,
		"How long to wait for an object to be deleted; 0 does not wait, and a negative value waits without limit. The default for namespaces and CRDs is 20m")
	flags.StringArrayVar(&f.timeoutFor, "timeout-for", nil, "KIND=DURATION for a kind that needs a different --timeout. Repeatable")
	flags.BoolVar(&f.explain, "explain-stuck", true, "If deletion stalls, explain why")
	flags.DurationVar(&f.stuckAfter, "stuck-after", 15*time.Second, "How long to wait for progress before printing the reason")
	_ = flags.MarkHidden("stuck-after") // Tests and demos shorten it.
	f.causes.Add(cmd, "On by default if stderr is not a terminal; --fail-on-cause= turns it off", stuck.Lastings())
	flags.StringVar(&f.finalizer, "remove-finalizer", "", "Finalizer to remove from the named objects, which must already be terminating; no deletion is requested")
	flags.BoolVar(&f.yes, "yes", false, "Remove the finalizer without asking")
	verb.OutputFlag(cmd, &f.output, printer.Formats(printer.OfDelete), "")
	help.Complete(cmd, "remove-finalizer", completion.Finalizers(c))
	help.Words(cmd, "cascade", "background", "foreground", "orphan")
	for _, name := range []string{"grace-period", "timeout-for", "stuck-after"} {
		help.Words(cmd, name)
	}
}

func (f *deleteFlags) toOptions(in verb.Invocation) (*deleteOptions, error) {
	given := in.Cmd.Flags().Changed
	targets, targetsErr := f.target.ToTargets(in.Args, in.Streams)
	grace, graceErr := f.grace()
	dryRun, dryRunErr := verb.DryRunOf(f.dryRun)
	propagation, cascadeErr := propagationOf(f.cascade)
	settings, settingsErr := f.config.Read(in, targets.Files.Files.Filenames, targets.Files.Files.Kustomize)
	limits, limitsErr := parseLimits(f.timeout, given("timeout"), f.timeoutFor, settings.TimeoutFor)
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	print.DryRun = f.dryRun != "none"
	out, outErr := printer.For(printer.OfDelete, print)
	o := &deleteOptions{
		targets: targets, strict: f.strict,
		engine: deletion.Engine{
			Propagation: propagation, GracePeriod: grace, DryRun: dryRun, Wait: f.wait && f.timeout != 0,
			IgnoreAbsent: f.ignoreAbsent || !given("ignore-not-found") && len(targets.Types) > 0,
			StuckAfter:   f.stuckAfter, Timeout: limits.limit, Finalizer: f.finalizer,
		},
		limits: limits, run: print.Run, out: out, warnings: f.warnings(),
		explain: f.explain || f.finalizer != "",
	}
	o.engine.Admit = f.admit(&o.claimed)
	o.engine.Admitted = func() { o.claimed.WarnDeleted(out.Print) }
	if f.finalizer != "" {
		o.engine.Confirm = f.confirmation(out, in.Streams)
	}
	if given("remove-finalizer") && f.finalizer == "" { // Perhaps a variable is unset.
		limitsErr = errors.Join(limitsErr, errors.New("--remove-finalizer is empty"))
	}
	_, onTerminal := verb.Terminal(in.Streams.ErrOut)
	var causesErr error
	o.engine.EndsFor, causesErr = f.causes.EndsFor(given, !onTerminal)
	var stuckErr error
	if f.stuckAfter <= 0 {
		stuckErr = errors.New("--stuck-after must be more than 0")
	}
	return o, errors.Join(targetsErr, settingsErr, f.others.Check(), graceErr, dryRunErr, cascadeErr, limitsErr, causesErr, stuckErr,
		f.checkFinalizer(targets, in.Streams), printErr, verb.FlagError("-o", outErr), in.Check())
}

// admit returns the check of each object, which collects those of other tools.
func (f *deleteFlags) admit(claimed *others.Collector) func(object.Ref, *unstructured.Unstructured) error {
	return func(ref object.Ref, live *unstructured.Unstructured) error {
		if f.others.Refuses() {
			return others.Refusal(live)
		}
		claimed.Deleted(ref, live)
		return nil
	}
}

// grace returns the grace period; nil if no flag sets one. As in kubectl, nothing is killed
// immediately without --force.
func (f *deleteFlags) grace() (*int64, error) {
	seconds := int64(f.gracePeriod)
	switch {
	case f.now && f.gracePeriod != -1:
		return nil, errors.New("--now and --grace-period cannot be combined")
	case f.force && f.gracePeriod > 0, f.force && f.now:
		return nil, errors.New("--force requires --grace-period=0")
	case f.force:
		seconds = 0
	case f.now, f.gracePeriod == 0:
		seconds = 1
	case f.gracePeriod < 0:
		return nil, nil
	}
	return &seconds, nil
}

func (f *deleteFlags) warnings() []string {
	var reported []string
	if _, err := strconv.ParseBool(f.cascade); err == nil {
		propagation, _ := propagationOf(f.cascade)
		reported = append(reported, fmt.Sprintf("--cascade=%s is deprecated: use --cascade=%s", f.cascade, strings.ToLower(string(propagation))))
	}
	if f.force {
		reported = append(reported, "--force does not wait for the containers to stop: they may keep running in the cluster indefinitely")
	}
	return reported
}

// propagationOf accepts true and false too: kubectl once used them for background and orphan, and
// still accepts them.
func propagationOf(text string) (metav1.DeletionPropagation, error) {
	if yes, err := strconv.ParseBool(text); err == nil {
		text = map[bool]string{true: "background", false: "orphan"}[yes]
	}
	switch text {
	case "background":
		return metav1.DeletePropagationBackground, nil
	case "foreground":
		return metav1.DeletePropagationForeground, nil
	case "orphan":
		return metav1.DeletePropagationOrphan, nil
	default:
		return "", fmt.Errorf("--cascade must be background, foreground or orphan, not %q", text)
	}
}

// checkFinalizer refuses to remove a finalizer from objects that were not explicitly named.
func (f *deleteFlags) checkFinalizer(t target.Targets, streams genericiooptions.IOStreams) error {
	switch {
	case f.finalizer == "" && f.yes:
		return errors.New("--yes requires --remove-finalizer")
	case f.finalizer == "":
		return nil
	case len(t.Named) == 0:
		return object.Hinted("name each object as TYPE/NAME; a finalizer is never removed by selector or file",
			"--remove-finalizer requires the names of the objects")
	case f.dryRun != "none":
		return errors.New("--remove-finalizer and --dry-run cannot be combined")
	case !f.yes && !verb.CanAsk(streams):
		return object.Hinted("use --yes if you know what the finalizer is for",
			"--remove-finalizer needs confirmation, but there is no terminal")
	}
	return nil
}

func (f *deleteFlags) confirmation(out *printer.Printer, streams genericiooptions.IOStreams) func(context.Context, string, []object.Ref) error {
	return func(ctx context.Context, finalizer string, refs []object.Ref) error {
		if f.yes {
			return nil
		}
		var err error
		out.Pause(func() {
			fmt.Fprintln(streams.ErrOut, "Whatever the finalizer's controller would clean up will be left behind.")
			var yes bool
			yes, err = verb.Ask(ctx, streams, fmt.Sprintf("Remove finalizer %s from %s?", format.Plain(finalizer), namesOf(refs)))
			if err == nil && !yes {
				err = deletion.ErrDeclined
			}
		})
		return err
	}
}

func namesOf(refs []object.Ref) string {
	const shown = 5
	var names []string
	for _, ref := range refs[:min(shown, len(refs))] {
		names = append(names, format.Plain(ref.String()))
	}
	if more := len(refs) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
