// Package diff implements the verb diff.
package diff

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/choices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/additions"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/others"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/preflight"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/rewriters"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
)

type flags struct {
	input      input.Flags
	choices    choices.Flags
	config     config.Flags
	strict     verb.StrictFlags
	others     others.Flags
	exclusive  bool
	set        setrun.Flags
	stat       bool
	output     string
	serverSide choices.ServerSideFlag
}

// Options are the parsed flags. The exported fields are those that another verb may set.
type Options struct {
	Input     input.Options
	Predictor predict.Predictor
	Set       setrun.Options
	// Found receives the plan; nil if the caller does not need it. Covers lists what the plan's
	// digest covers in addition to the objects; it is used only with Found, and if it is nil, no
	// digest is printed.
	Found  *review.Plan
	Covers []string
	// Run is the ID of the run.
	Run string
	Out *printer.Printer

	strict verb.StrictFlags
	others others.Flags
	rules  *config.Rules
	// patcher writes the changes of others into the files; nil if no patch is printed.
	patcher *patcher
}

// New returns the verb diff.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags flags
	cmd := &cobra.Command{
		Use:   "diff (-f FILENAME | -k DIRECTORY)",
		Short: "Show what apply would change in the fields that you own",
		Long: `Ask the server how apply would change the fields that you own or would own, and
show the result. A contested field is marked with its owner.

To show the changes with another program, set KUBECTL_EXTERNAL_DIFF to its
command line.

Exit status: 0 nothing would change, 1 something would, 2 could not tell.`,
		Example: `  # Show what apply would change
  kubectl k8sconnect diff -f manifests/

  # Use another diff program
  export KUBECTL_EXTERNAL_DIFF="dyff between --omit-header"
  kubectl k8sconnect diff -f web.yaml`,
		Args:              verb.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	flags.input.Add(cmd)
	flags.choices.Add(cmd.Flags())
	flags.config.Add(cmd)
	flags.set.Add(cmd.Flags(), false)
	flags.strict.Add(cmd.Flags())
	flags.others.Add(cmd)
	cmd.Flags().BoolVar(&flags.exclusive, "exclusive", false, "Also compare fields that others have added")
	flags.serverSide.Add(cmd.Flags())
	cmd.Flags().BoolVar(&flags.stat, "stat", false, "Only count the changes of each object")
	verb.OutputFlag(cmd, &flags.output, printer.Formats(printer.OfDiff), "The format "+output.Markdown+" is for a pull request")
	return cmd
}

func (f *flags) toOptions(in verb.Invocation) (*Options, error) {
	input, inErr := f.input.ToOptions(in.Streams)
	settings, settingsErr := f.config.Read(in, input.Files.Filenames, input.Files.Kustomize)
	predictor, predictorErr := f.choices.ToPredictor()
	predictor.Exclusive = settings.Exclusively(f.exclusive)
	rules := config.Ruled(settings, in.Verbosity > 0, &predictor)
	set, setErr := f.set.ToOptions(in.Cmd.Flags().Changed, f.input.Selector != "")
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	var externalErr error
	print.External, externalErr = verb.ExternalDiff(in.Streams)
	print.Stat = f.stat
	var statErr error
	if f.stat && f.output != output.Table {
		statErr = errors.New("--stat and -o cannot be combined: the other formats list each change")
	}
	var patches *patcher
	var patchErr error
	if f.output == output.Patch {
		patches = &patcher{hide: in.Vault.Text}
		print.Patch, patchErr = patches.patch, patchable(input.Files.Filenames, input.Files.Kustomize)
	}
	out, outErr := printer.For(printer.OfDiff, print)
	o := &Options{Input: input, Predictor: predictor, Set: set, Run: print.Run, Out: out, strict: f.strict, others: f.others, rules: rules, patcher: patches}
	o.Input.Files.Empty = set.Prune
	return o, errors.Join(inErr, settingsErr, f.others.Check(), predictorErr, setErr, f.serverSide.Check(), printErr, externalErr, statErr, patchErr, verb.FlagError("-o", outErr), in.Check())
}

// Execute reads the input and compares it with the cluster.
func (o *Options) Execute(ctx context.Context, in verb.Invocation) error {
	return o.strict.End(o.execute(ctx, in), in.Warned)
}

func (o *Options) execute(ctx context.Context, in verb.Invocation) error {
	o.Input.Prefetch = o.Set.Name == ""
	if err := o.Input.Read(ctx, in.Connection, in.Streams, o.Out.Print); err != nil {
		return verb.Finish(err, o.Out.Close(ctx))
	}
	err := o.compare(ctx, in.Connection)
	defer o.rules.Explain(in.Streams.ErrOut)
	return o.Input.Incomplete(verb.Finish(err, o.Out.Close(ctx)))
}

func (o *Options) compare(ctx context.Context, c *connection.Connection) error {
	r, err := o.begin(ctx, c)
	if err != nil {
		return err
	}
	defer r.done()
	if o.Set.Name != "" {
		return r.compareSet(ctx)
	}
	return r.reviewed(ctx, r.carryOut(ctx, r.engine(nil)), nil)
}

// run is one comparison of a plan with a cluster. All its fields are set when it begins.
type run struct {
	*Options
	connection *connection.Connection
	client     *client.Client
	plan       *plan.Plan
	predictor  predict.Predictor
	preflight  *preflight.Run
	leaving    *setrun.LeavingMembers
	claimed    *others.Collector
	// refused reports whether apply refuses an object of another tool.
	refused   atomic.Bool
	added     *additions.Collector
	rewriters rewriters.Collector
	// found collects what apply would change.
	found *review.Plan
	// identify begins to read the identity of the cluster, once something would change. It is nil if
	// no digest is printed.
	identify func() func() (event.Cluster, error)
	done     func()
}

// begin connects to the cluster and plans the run.
func (o *Options) begin(ctx context.Context, c *connection.Connection) (*run, error) {
	r := &run{
		Options: o, connection: c, predictor: o.Predictor, leaving: &setrun.LeavingMembers{Leave: o.Set.Leave},
		claimed: &others.Collector{Manager: o.Predictor.Manager}, added: &additions.Collector{Predictor: o.Predictor}, found: cmp.Or(o.Found, &review.Plan{}),
	}
	var err error
	if r.client, err = c.Connect(ctx, o.Run, 0, o.Out.Print); err != nil {
		return nil, err
	}
	if o.Found == nil || o.Covers != nil {
		r.identify = sync.OnceValue(func() func() (event.Cluster, error) { return c.Identify(ctx, r.client) })
	}
	if r.plan, err = o.Input.Plan(ctx, c, r.client, o.check, o.Out.Print); err != nil {
		return nil, err
	}
	r.predictor.Schema, r.done = o.Input.Types(ctx, r.client, r.plan)
	r.preflight = preflight.New(o.Out.Print, o.Set.Prune, r.plan)
	return r, nil
}

// check refuses choices that do not fit the input.
func (o *Options) check(p *plan.Plan) error { return choices.Check(p, o.Predictor, o.Out.Print) }

// engine returns the engine of the run. member is the run of the set, or nil.
func (r *run) engine(member *setrun.Run) *diff.Engine {
	e := &diff.Engine{
		Server: r.client, Predictor: r.predictor, Prefetched: r.Input.Prefetched(), OnRead: r.preflight.See,
		Emit: r.emit, Unmasked: r.found.SeeSecret,
		Judged: r.judged,
	}
	if member != nil {
		e.Predictor.Take = slices.Concat(e.Predictor.Take, r.Set.AdoptionChoices())
		e.Admit = member.Admit
		return e
	}
	if admit := r.others.Admit(r.predictor); admit != nil {
		e.Admit = func(item plan.Item, live *unstructured.Unstructured) error {
			err := admit(item, live)
			if err != nil {
				r.refused.Store(true)
			}
			return err
		}
	}
	e.Judged = func(p *predict.Prediction, changes bool) {
		r.judged(p, changes)
		if p.Verdict != noop.Unchanged && !r.others.Refuses() { // A refused object has a warning of its own.
			r.claimed.Predicted(p)
		}
	}
	e.Predictor.Carry = r.leaving.Carry()
	e.OnRead = func(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
		r.preflight.See(item, before, after, changes)
		r.leaving.See(item, before, after, changes)
	}
	return e
}

func (r *run) judged(p *predict.Prediction, _ bool) {
	r.found.Learn(p.Live)
	if r.patcher != nil {
		r.patcher.learn(p.Item.Ref, p.Item.Object)
	}
	after := p.Answer
	if after == nil || p.Live == nil {
		after = p.Live
	}
	r.added.See(p.Item, after, func(o managedfields.Owner) bool { return slices.ContainsFunc(p.Adoption.Adopted, o.Equal) })
}

func (r *run) emit(e event.Event) {
	r.found.See(e)
	r.rewriters.See(e)
	if c, ok := e.(event.Compared); ok && r.identify != nil && c.Action != event.None && c.Action != event.Kept && c.Action != event.Unknown {
		r.identify()
	}
	if c, ok := e.(event.Compared); ok && r.patcher != nil {
		r.patcher.see(c)
	}
	r.Out.Print(e)
}

// carryOut compares the objects, and reports what else is notable about them.
func (r *run) carryOut(ctx context.Context, e *diff.Engine) error {
	for item := range r.plan.Items() { // The server need not serve its kind yet.
		r.found.Learn(item.Object)
	}
	err := r.rules.Watch(r.plan, r.Input.Beside(ctx, r.client), r.Out.Print, e.Run(ctx, r.plan))
	r.preflight.Report(ctx, r.plan, r.client.NoRetry())
	r.rewriters.Report(ctx, r.plan, r.client.NoRetry(), r.Out.Print)
	r.leaving.Warn(ctx, r.client, true, r.Out.Print)
	r.claimed.Absent = others.Absent(ctx, r.client)
	r.claimed.Warn(r.Out.Print)
	r.added.Report(r.Out.Print)
	return err
}

// reviewed prints the digest, unless it is unknown how some object would change, or apply refuses one.
// member is the run of the set, or nil.
func (r *run) reviewed(ctx context.Context, compared error, member *setrun.Run) error {
	if r.identify != nil && r.patcher == nil && !r.refused.Load() && (compared == nil || errors.Is(compared, diff.ErrDiffers)) {
		// A plan without changes is the same for every cluster, and an unchanged run needs no request.
		cluster := event.Cluster{Unknown: "it changes nothing"}
		if len(r.found.Outcomes()) > 0 {
			var err error
			if cluster, err = r.identify()(); err != nil {
				return err
			}
		}
		covers := r.Covers
		if r.Found == nil {
			covers = setrun.OnCluster(setrun.Covers(r.predictor.Manager, member), cluster)
			if member != nil && len(r.found.Outcomes()) > 0 {
				newest, err := member.Newest(ctx)
				if err != nil {
					return err
				}
				covers = setrun.Anew(covers, newest, func(covers ...string) string { return r.found.Digest("", covers...) })
			}
		}
		end := r.found.Reviewed("", covers...)
		end.Cluster = cluster
		r.Out.Print(end)
	}
	return compared
}

// compareSet compares the plan as a set, together with what a prune would delete.
func (r *run) compareSet(ctx context.Context) error {
	namespace, _, err := r.connection.Namespace()
	if err != nil {
		return err
	}
	member := &setrun.Run{
		Server: r.client, Namespace: namespace, DryRun: object.DryRunClient, Manager: r.predictor.Manager,
		Former: setrun.Promised(r.client), Shown: preflight.Losses(r.plan, r.emit), Emit: r.emit,
	}
	if err := r.Set.Begin(ctx, member, r.plan); err != nil {
		return err
	}
	compared := r.carryOut(ctx, r.engine(member))
	if ctx.Err() != nil {
		return compared
	}
	leaves := false
	if err := member.Leaving(ctx, func(ctx context.Context, doomed []applyset.Member) error {
		leaves = true
		return setrun.Show(ctx, r.client, doomed, r.emit)
	}); err != nil {
		return err
	}
	if compared == nil && leaves {
		compared = diff.ErrDiffers
	}
	return r.reviewed(ctx, compared, member)
}
