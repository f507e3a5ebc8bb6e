package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/waitcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/prompt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
)

type applyFlags struct {
	input              input.Flags
	lock               sets.LockFlags
	live               prompt.Flags
	choices            input.ChoiceFlags
	config             config.Flags
	await              waitcmd.Flags
	set                sets.Flags
	strict             verb.StrictFlags
	dryRun, confirm    string
	history            int
	atomic             bool
	continueOnConflict bool
	serverSide         bool
	awaitKinds         time.Duration
	concurrency        int
	output             string
}

type applyOptions struct {
	input              input.Options
	strict             verb.StrictFlags
	engine             *apply.Engine
	predictor          predict.Predictor
	dryRun             object.DryRun
	continueOnConflict bool
	awaitKinds         time.Duration
	objects            bool

	awaited waitcmd.Awaited
	rules   *config.Rules
	// journal is nil without --atomic.
	journal *restore.Journal
	// pruned lists the objects that the run deleted from its set, in the order of apply.
	pruned *plan.Plan
	// history is the number of runs of a set to keep. undone means that this run was rolled back.
	history int
	undone  bool
	set     sets.Options
	// ask asks the user to confirm a prune that looks like a mistake; nil if no user can answer.
	ask func(context.Context, applyset.Decision, string) (bool, error)
	// approve is called before the first write. held means that the run must make exactly the
	// planned changes. If approve is nil, every change is approved.
	approve func(p *review.Plan, of []string) (held bool, err error)
	// live asks about conflicts; nil if there is no prompt.
	live        *prompt.Terminal
	concurrency int
	lock        *sets.Locking
	lockWithin  time.Duration
	printed     bool
	run         string
	out         *printer.Printer
}

func newApply(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags applyFlags
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
		"none, server (ask the server what would happen) or client (only report what would be sent)")
	cmd.Flags().StringVar(&flags.confirm, "confirm", "",
		"Apply only what was reviewed: the DIGEST that diff prints, or a file with the output of diff -o json")
	cmd.Flags().BoolVar(&flags.atomic, "atomic", false,
		"Roll back the run unless everything is applied and, with --wait, ready")
	cmd.Flags().IntVar(&flags.history, "history", sets.Usual, "How many runs of a set to keep for a rollback; 0 keeps none")
	cmd.Flags().BoolVar(&flags.continueOnConflict, "continue-on-conflict", false,
		"Skip objects in conflict and what depends on them, apply the rest, and exit with 1")
	cmd.Flags().DurationVar(&flags.awaitKinds, "await-kinds", 0,
		"How long to wait for kinds that an operator installs later")
	cmd.Flags().Lookup("await-kinds").NoOptDefVal = "5m"
	flags.strict.Add(cmd.Flags())
	cmd.Flags().IntVar(&flags.concurrency, "concurrency", 0,
		"Maximum number of concurrent requests; the actual number adapts to the server")
	_ = cmd.Flags().MarkHidden("concurrency")
	verb.OutputFlag(cmd, &flags.output, "; "+output.Objects+", "+output.ObjectsJSON+", "+output.ObjectsKYAML+" and "+
		output.JSONPath+"=TEMPLATE print the objects themselves; with --dry-run=client, "+output.Manifests+
		" prints the input in apply order, without a server",
		output.Objects, output.ObjectsJSON, output.ObjectsKYAML, output.Manifests)
	addServerSide(cmd.Flags(), &flags.serverSide)
	return cmd
}

// addServerSide adds --server-side, which has no effect and is accepted for kubectl scripts.
func addServerSide(flags *pflag.FlagSet, on *bool) {
	flags.BoolVar(on, "server-side", true, "Always on; accepted for compatibility with kubectl")
	_ = flags.MarkHidden("server-side")
}

func serverSideErr(on bool) error {
	if on {
		return nil
	}
	return errors.New("--server-side=false is not supported; for a client-side apply, use kubectl apply")
}

func (f *applyFlags) toOptions(in verb.Invocation) (*applyOptions, error) {
	input, inErr := f.input.ToOptions(in.Streams)
	settings, settingsErr := f.config.Read(in, input.Files.Filenames, input.Files.Kustomize)
	f.await.Standing(settings.TimeoutFor, settings.Readiness)
	predictor, predictorErr := f.choices.ToPredictor()
	rules := config.Ruled(settings, in.Verbosity > 0, &predictor)
	awaited, awaitedErr := f.await.ToAwaited(in.Cmd.Flags(), waitcmd.IsUnattended(in.Streams))
	set, setErr := f.set.ToOptions(in.Cmd.Flags().Changed, f.input.Selector != "")
	within, lockErr := f.lock.Within(in.Cmd.Flags().Changed, set.Name != "")
	dryRun, dryRunErr := verb.DryRunOf(f.dryRun)
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	print.ContinueOnConflict = f.continueOnConflict
	print.DryRun, print.Unasked = dryRun != object.DryRunNone, dryRun == object.DryRunClient
	out, outErr := printer.ForApply(print)
	o := &applyOptions{
		input: input, strict: f.strict, predictor: predictor, dryRun: dryRun,
		awaitKinds: f.awaitKinds, continueOnConflict: f.continueOnConflict, objects: output.IsOfObjects(f.output),
		awaited: awaited, rules: rules, set: set, lockWithin: within, ask: sets.Asking(in.Streams, out.Pause),
		live:        f.live.ToTerminal(in, f.output, input.Files.Filenames, dryRun, out.Pause),
		concurrency: f.concurrency, printed: f.output == output.Manifests, run: print.Run, history: f.history, out: out,
	}
	o.input.Files.Empty, o.input.Offline = set.Prune, o.printed
	if !f.live.CanAsk(in) {
		o.ask = nil
	}
	if f.atomic {
		o.journal = &restore.Journal{}
	}
	faults := []error{inErr, settingsErr, predictorErr, awaitedErr, setErr, lockErr, dryRunErr}
	refuse := func(invalid bool, err error) {
		if invalid {
			faults = append(faults, err)
		}
	}
	changed := in.Cmd.Flags().Changed
	refuse(set.Name == "" && changed("history"), errors.New("--history requires --apply-set: a run without a set has no history"))
	refuse(o.printed && set.Name != "", errors.New("-o manifests and --apply-set cannot be combined: printed manifests belong to no set"))
	refuse(o.printed && dryRun != object.DryRunClient, errNothingApplied)
	refuse(f.concurrency < 0, errors.New("--concurrency must not be negative"))
	refuse(f.awaitKinds < 0, errors.New("--await-kinds must not be negative"))
	refuse(f.history < 0, errors.New("--history must not be negative"))
	refuse(f.atomic && f.continueOnConflict,
		errors.New("--atomic and --continue-on-conflict cannot be combined: with --atomic, a conflict rolls everything back"))
	return o, errors.Join(append(faults, o.confirm(f.confirm, changed("confirm")), serverSideErr(f.serverSide), printErr,
		verb.FlagError("-o", outErr), in.Check())...)
}
