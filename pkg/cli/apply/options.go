// Package apply implements the verb apply: flags → [Options] → a run, which is built once and then
// carried out.
package apply

import (
	"context"
	"errors"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/choices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/await"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/others"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/prompt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
)

type flags struct {
	input              input.Flags
	lock               setrun.LockFlags
	live               prompt.Flags
	choices            choices.Flags
	config             config.Flags
	await              await.Flags
	set                setrun.Flags
	strict             verb.StrictFlags
	others             others.Flags
	dryRun, confirm    string
	history            int
	atomic, exclusive  bool
	continueOnConflict bool
	serverSide         choices.ServerSideFlag
	awaitKinds         time.Duration
	concurrency        int
	output             string
}

// Options are the parsed flags. The exported fields are those that another verb may set.
type Options struct {
	Input     input.Options
	Predictor predict.Predictor
	Awaited   await.Awaited
	Set       setrun.Options
	// LockWithin is how long to wait for the lock of the set. History is the number of runs of a set
	// to keep.
	LockWithin time.Duration
	History    int
	// Journal is nil without --atomic.
	Journal *restore.Journal
	// RollbackTo is the run of the set that this one goes back to; zero if it is no rollback.
	RollbackTo history.Name
	// Approve is called before the first write. held means that the run must make exactly the
	// proposed changes. If Approve is nil, every change is approved.
	Approve func(Proposal) (held bool, err error)
	// Confirms is the digest of the plan that the run confirms; empty if there is none.
	Confirms string
	// Run is the ID of the run.
	Run string
	Out *printer.Printer

	strict             verb.StrictFlags
	others             others.Flags
	rules              *config.Rules
	dryRun             object.DryRun
	continueOnConflict bool
	awaitKinds         time.Duration
	objects            bool
	printed, role      bool
	concurrency        int
	// ask asks the user to confirm a prune that looks like a mistake; nil if no user can answer.
	ask func(context.Context, applyset.Decision, string) (bool, error)
	// reviewed is the plan that the user has confirmed; nil if only its digest is known.
	reviewed *review.Document
	// live asks about conflicts; nil if there is no prompt.
	live *prompt.Terminal
	// rulesFile is the file to which the prompt can add rules; empty if there is none.
	rulesFile string
}

// Proposal is what a run would change.
type Proposal struct {
	Plan *review.Plan
	// Covers is the data that the plan's digest covers in addition to the objects and the cluster.
	Covers  []string
	Cluster event.Cluster
	// Hide masks the values of Secrets in a text, as the output of this run does.
	Hide func(string) string
	// Unknown is set if it is unknown how some objects would change.
	Unknown error
	// Last is the newest run recorded with the lock of the set; zero if there is none.
	Last history.Run
	// Newest is the newest run that the set has recorded, with the plans that its runs have
	// confirmed; zero if there is none. Same means that its input was the same as that of this run.
	Newest history.Run
	Same   bool
}

// New returns the verb apply.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags flags
	cmd := &cobra.Command{
		Use:   "apply (-f FILENAME | -k DIRECTORY)",
		Short: "Apply manifests, and explain every conflict field by field",
		Long: `Apply manifests with server-side apply, in dependency order. A phase with a
conflict writes nothing, and neither do later phases; each contested field is
shown with both values, its owners, and the flags that settle it.`,
		Example: `  # Apply a folder; unchanged objects are not written
  kubectl k8sconnect apply -f manifests/

  # Leave the replicas to the autoscaler, but take back the image
  kubectl k8sconnect apply -f web.yaml \
    --yield deployment.apps/web:.spec.replicas \
    --take '.spec.template.spec.containers[name="app"].image'

  # Preview the changes that the server would make
  kubectl k8sconnect apply -f web.yaml --dry-run=server

  # Apply what was reviewed, or nothing
  kubectl k8sconnect diff -f web.yaml -o json >plan.json
  kubectl k8sconnect apply -f web.yaml --confirm=plan.json

  # Also delete members of the set that are no longer in the folder
  kubectl k8sconnect apply -f manifests/ --apply-set=shop --prune

  # Sort manifests for a machine configuration, without a server
  kubectl k8sconnect apply -f addons/ --dry-run=client -o manifests`,
		Args:              verb.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	flags.input.Add(cmd)
	flags.choices.Add(cmd.Flags())
	flags.config.Add(cmd)
	flags.await.Add(cmd)
	flags.set.Add(cmd.Flags(), true)
	flags.lock.Add(cmd.Flags())
	flags.live.Add(cmd.Flags())
	verb.DryRunFlag(cmd.Flags(), &flags.dryRun,
		"none, server (ask what would happen) or client (send nothing)")
	cmd.Flags().StringVar(&flags.confirm, "confirm", "",
		"Apply only what was reviewed: the DIGEST that diff prints, or a file with the output of diff -o json")
	cmd.Flags().BoolVar(&flags.atomic, "atomic", false,
		"Roll back the run unless everything is applied and, with --wait, ready")
	cmd.Flags().BoolVar(&flags.exclusive, "exclusive", false, "Also remove fields that others have added")
	cmd.Flags().IntVar(&flags.history, "history", setrun.Usual, "How many runs of a set to keep for a rollback; 0 keeps none")
	cmd.Flags().BoolVar(&flags.continueOnConflict, "continue-on-conflict", false,
		"Skip objects in conflict and what depends on them, apply the rest, and exit with 1")
	cmd.Flags().DurationVar(&flags.awaitKinds, "await-kinds", 0,
		"How long to wait for kinds that an operator installs later")
	cmd.Flags().Lookup("await-kinds").NoOptDefVal = "5m"
	flags.strict.Add(cmd.Flags())
	flags.others.Add(cmd)
	cmd.Flags().IntVar(&flags.concurrency, "concurrency", 0,
		"Maximum number of concurrent requests; the actual number adapts to the server")
	_ = cmd.Flags().MarkHidden("concurrency")
	verb.OutputFlag(cmd, &flags.output, printer.Formats(printer.OfApply), "The formats "+output.Objects+", "+output.ObjectsJSON+", "+output.ObjectsKYAML+" and "+
		output.JSONPath+"=TEMPLATE print the objects themselves. With --dry-run=client, "+output.Manifests+
		" prints the input in apply order, without a server. With --dry-run=server, "+output.Role+
		" prints the Roles and the ClusterRole that the run needs")
	flags.serverSide.Add(cmd.Flags())
	return cmd
}

// toOptions returns all faults of the command line together, so that a user can correct them at once. It
// therefore does not stop at the first one.
func (f *flags) toOptions(in verb.Invocation) (*Options, error) {
	input, inErr := f.input.ToOptions(in.Streams)
	settings, settingsErr := f.config.Read(in, input.Files.Filenames, input.Files.Kustomize)
	f.await.Standing(settings.TimeoutFor, settings.Readiness)
	predictor, predictorErr := f.choices.ToPredictor()
	predictor.Exclusive = settings.Exclusively(f.exclusive)
	rules := config.Ruled(settings, in.Verbosity > 0, &predictor)
	awaited, awaitedErr := f.await.ToAwaited(in.Cmd.Flags(), verb.IsUnattended(in.Streams))
	set, setErr := f.set.ToOptions(in.Cmd.Flags().Changed, f.input.Selector != "")
	within, lockErr := f.lock.Within(in.Cmd.Flags().Changed, set.Name != "")
	dryRun, dryRunErr := verb.DryRunOf(f.dryRun)
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	print.ContinueOnConflict = f.continueOnConflict
	print.DryRun, print.Unasked = dryRun != object.DryRunNone, dryRun == object.DryRunClient
	out, outErr := printer.For(printer.OfApply, print)
	o := &Options{
		Input: input, Predictor: predictor, Awaited: awaited, Set: set, LockWithin: within, History: f.history, Run: print.Run, Out: out,
		strict: f.strict, others: f.others, rules: rules, rulesFile: settings.Place, dryRun: dryRun, continueOnConflict: f.continueOnConflict, awaitKinds: f.awaitKinds,
		objects: output.IsOfObjects(f.output), printed: f.output == output.Manifests, role: f.output == output.Role, concurrency: f.concurrency,
		ask:  setrun.Asking(in.Streams, out.Pause),
		live: f.live.ToTerminal(in, f.output, input.Files.Filenames, dryRun, out.Pause),
	}
	o.Input.Files.Empty, o.Input.Offline = set.Prune, o.printed
	if !f.live.CanAsk(in) {
		o.ask = nil
	}
	if f.atomic {
		o.Journal = &restore.Journal{}
	}
	faults := []error{inErr, settingsErr, f.others.Check(), predictorErr, awaitedErr, setErr, lockErr, dryRunErr}
	refuse := func(invalid bool, err error) {
		if invalid {
			faults = append(faults, err)
		}
	}
	changed := in.Cmd.Flags().Changed
	refuse(set.Name == "" && changed("history"), errors.New("--history requires --apply-set: a run without a set has no history"))
	refuse(o.printed && set.Name != "", errors.New("-o manifests and --apply-set cannot be combined: printed manifests belong to no set"))
	refuse(o.printed && dryRun != object.DryRunClient, errNothingApplied)
	refuse(o.role && dryRun != object.DryRunServer, errRoleNeedsDryRun)
	refuse(f.concurrency < 0, errors.New("--concurrency must not be negative"))
	refuse(f.exclusive && dryRun == object.DryRunClient,
		errors.New("--exclusive and --dry-run=client cannot be combined: only the server knows which fields are defaults"))
	refuse(f.awaitKinds < 0, errors.New("--await-kinds must not be negative"))
	refuse(f.history < 0, errors.New("--history must not be negative"))
	refuse(f.atomic && f.continueOnConflict,
		errors.New("--atomic and --continue-on-conflict cannot be combined: with --atomic, a conflict rolls everything back"))
	return o, errors.Join(append(faults, o.confirm(f.confirm, changed("confirm"), in.Streams.ErrOut), f.serverSide.Check(), printErr,
		verb.FlagError("-o", outErr), in.Check())...)
}
