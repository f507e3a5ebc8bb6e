// Package wait implements the verb wait.
package wait

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/await"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// New returns the verb wait.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags waitFlags
	cmd := &cobra.Command{
		Use:   "wait (TYPE/NAME… | TYPE -l SELECTOR | -f FILE)",
		Short: "Wait for objects to be ready, and explain those that are not",
		Long: `Wait until every object meets its conditions: readiness, a CEL expression (where
self is the object), a status condition, or a JSONPath. A field that the kind
does not have is an immediate error. After a timeout or a failure, the
conditions responsible are shown with the values that they read and the causes.

Objects are named as TYPE/NAME or as TYPE NAME, selected by a TYPE with -l,
--all or --field-selector, or read from manifests with -f or -k. Named objects
need not exist yet; a missing one is reported at once.

Exit status: 0 met, 1 not met in time or failed, 2 could not tell.`,
		Example: `  # Wait until the Deployment is ready, or fails
  kubectl k8sconnect wait deploy/web

  # Wait for your own condition, in CEL
  kubectl k8sconnect wait deploy/web --for='self.status.readyReplicas >= 2'

  # Wait until the Job is complete, but give up after too many failures
  kubectl k8sconnect wait job/load --for=condition=Complete \
    --fail-on='self.status.failed > 3'

  # Print the address of a load balancer, once it has one
  kubectl k8sconnect wait svc/web \
    --for='has(self.status.loadBalancer.ingress)' \
    -o jsonpath='{.status.loadBalancer.ingress[0].ip}'`,
		ValidArgsFunction: completion.Targets(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.explain != "" {
				return verb.Runner(c, streams, flags.toExplanation)(cmd, args)
			}
			return verb.Runner(c, streams, flags.toOptions)(cmd, args)
		},
	}
	cmd.Flags().SortFlags = false
	flags.add(cmd, c)
	return cmd
}

func (f *waitFlags) add(cmd *cobra.Command, c *connection.Connection) {
	f.target.Add(cmd)
	f.target.AddSet(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.conditions, "for", nil,
		"Condition to wait for: ready (the default), a CEL expression, condition=TYPE[=STATUS], jsonpath='{…}'[=VALUE], create or delete. Repeatable")
	flags.BoolVar(&f.any, "any", false, "One --for condition is enough; without this flag, an object must meet all of them at the same time")
	flags.StringArrayVar(&f.failOn, "fail-on", nil, "Condition that ends the wait as failed, in the same forms as --for. Repeatable")
	flags.DurationVar(&f.timeout, "timeout", verb.UsualTimeout, "How long to wait in total; 0 checks once without waiting, and a negative value waits without limit")
	flags.DurationVar(&f.existence, "existence-timeout", 0,
		"How long an object or its kind may be absent; defaults to --timeout, and 0 means not at all")
	f.times.Add(cmd)
	f.config.Add(cmd)
	flags.StringVar(&f.explain, "explain-ready", "", "Print the rule that decides whether objects of this KIND are ready, and where it comes from; does not wait")
	flags.BoolVar(&f.local, "local", false, "Check the objects in the files, such as the output of kubectl get -o yaml, without a server and without waiting")
	f.hang.Add(cmd, "Off by default", unready.Lastings())
	verb.CompletedOutputFlag(cmd, &f.output, printer.Formats(printer.OfWait), "The formats yaml, kyaml, name and jsonpath print the objects that met their conditions",
		completion.JSONPaths(c, printer.Formats(printer.OfWait)))
	help.Words(cmd, "for", "ready", "condition=", "jsonpath=", "create", "delete", "cel=")
	for _, name := range []string{"fail-on", "existence-timeout"} {
		help.Words(cmd, name)
	}
}

func (f *waitFlags) toOptions(in verb.Invocation) (*waitOptions, error) {
	targets, targetsErr := f.target.ToTargets(in.Args, in.Streams)
	settings, settingsErr := f.config.Read(in, targets.Files.Files.Filenames, targets.Files.Files.Kustomize)
	if f.timeout != 0 {
		f.times.Standing = settings.TimeoutFor
	}
	goal, goalErr := f.toGoal()
	limits, limitsErr := f.times.ToLimits(goal.For)
	hanging, hangErr := f.hang.ToHanging(in.Cmd.Flags(), false)
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	out, outErr := printer.For(printer.OfWait, print)
	rules, rulesErr := await.ReadRules(settings.Readiness)
	await.UseRules(rules, f.local || f.timeout == 0, goal.For)
	await.UseRules(rules, f.local || f.timeout == 0, goal.FailOn)
	o := &waitOptions{
		targets: targets, goal: goal, hanging: hanging, limits: limits,
		engine:  wait.Engine{Timeout: f.timeout, Objects: output.WantsObjects(f.output)},
		timeout: f.timeout, run: print.Run, out: out, rules: rules, isLocal: f.local,
	}
	var existenceErr error
	if in.Cmd.Flags().Changed("existence-timeout") {
		o.engine.Existence = &f.existence
		if f.existence < 0 {
			existenceErr = errors.New("--existence-timeout must not be negative")
		}
	}
	if len(f.times.Given) > 0 && f.timeout == 0 {
		limitsErr = errors.Join(limitsErr, errors.New("--timeout-for and --timeout=0 cannot be combined: --timeout=0 checks once"))
	}
	return o, errors.Join(targetsErr, settingsErr, goalErr, existenceErr, limitsErr, hangErr, printErr, verb.FlagError("-o", outErr), rulesErr,
		f.checkLocal(in.Cmd.Flags().Changed), in.Check())
}

func (f *waitFlags) toGoal() (*wait.Goal, error) {
	texts := f.conditions
	if len(texts) == 0 {
		texts = []string{string(condition.Ready)}
	}
	met, metErr := await.ParseConditions("--for", texts)
	failed, failedErr := await.ParseConditions("--fail-on", f.failOn)
	return &wait.Goal{For: met, Any: f.any, FailOn: failed}, errors.Join(metErr, failedErr)
}

func (f *waitFlags) toExplanation(in verb.Invocation) (*Explanation, error) {
	settings, settingsErr := f.config.Read(in, nil, "")
	rules, err := await.ReadRules(settings.Readiness)
	err = errors.Join(settingsErr, err)
	if len(in.Args) > 0 || f.target.Set != "" || len(f.target.Filenames) > 0 || f.target.Kustomize != "" {
		err = errors.Join(err, errors.New("--explain-ready KIND cannot be combined with objects"))
	}
	return &Explanation{Kind: f.explain, Rules: rules}, errors.Join(err, in.Check())
}

func (o *waitOptions) Execute(ctx context.Context, in verb.Invocation) error {
	if o.isLocal {
		return verb.Finish(o.local(ctx, in), o.out.Close(ctx))
	}
	began := time.Now()
	if o.targets.InFiles {
		reading, cancel := o.within(ctx, began, "the manifests were read")
		err := o.targets.Files.Read(reading, in.Connection, in.Streams, o.out.Print)
		cancel()
		if err != nil {
			return verb.Finish(err, o.out.Close(ctx))
		}
	}
	err := o.work(ctx, in.Connection, began)
	return o.targets.Files.Incomplete(verb.Finish(err, o.out.Close(ctx)))
}

// work connects to the cluster and waits. Its timeout is counted from the given time (began).
func (o *waitOptions) work(ctx context.Context, c *connection.Connection, began time.Time) error {
	connecting, cancel := o.within(ctx, began, "the server listed the objects")
	defer cancel()
	client, err := c.Connect(connecting, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	awaited, err := o.resolve(ctx, c, client, began)
	if err != nil {
		return err
	}
	if o.timeout > 0 {
		o.engine.Timeout = max(time.Millisecond, o.timeout-time.Since(began))
	}
	workloads := await.CollectWorkloads(o.out.Print)
	o.engine.Emit = workloads.Handle
	o.hanging.Onto(&o.engine, client, c.Vault.Text)
	await.Bound(&o.engine, o.limits, awaited, o.out.Print)
	o.engine.Absent = target.WhyAbsent(client)
	o.engine.Source = await.Ruled{Source: client, Client: client, Rules: o.rules}
	o.engine.WorthAcross = client.WorthAcross
	err = o.engine.Run(ctx, awaited)
	workloads.Report(ctx, client.NoRetry())
	return err
}

func (o *waitOptions) resolve(ctx context.Context, c *connection.Connection, client *client.Client, began time.Time) ([]wait.Target, error) {
	ctx, cancel := o.within(ctx, began, "the server listed the objects")
	defer cancel()
	if o.targets.InFiles {
		p, err := o.targets.Files.Order(ctx, c, client, o.out.Print)
		if err != nil {
			return nil, err
		}
		var all []wait.Target
		for it := range p.Items() {
			all = append(all, await.Target(it, o.goal))
		}
		return all, nil
	}
	return o.argued(ctx, c, client, began)
}

func (o *waitOptions) within(ctx context.Context, began time.Time, missing string) (context.Context, context.CancelFunc) {
	if o.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, began.Add(o.timeout),
		fmt.Errorf("timed out after %s before %s", o.timeout, missing))
}

func (o *waitOptions) argued(ctx context.Context, c *connection.Connection, server *client.Client, began time.Time) ([]wait.Target, error) {
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	selected := o.targets
	selected.Named = nil
	found, err := selected.Resolve(ctx, c, server)
	faults := []error{err}
	var all []wait.Target
	if err == nil && (o.targets.Fields != "" || o.targets.Labels != "" && o.waitsFor(condition.Delete)) {
		return o.matching(ctx, server, found, began)
	}
	for _, t := range found {
		all = append(all, wait.Target{Selection: t.Selection, Kind: t.Kind, Type: t.Kind.GVR().GroupResource().String(), Goal: o.goal})
	}
	for _, n := range o.targets.Named {
		kind, err := server.Resource(ctx, n.Type)
		if missing, ok := errors.AsType[*client.NoTypeError](err); ok {
			kind, err = guessed(n.Type), o.mayCome(missing)
		}
		faults = append(faults, err)
		sel := object.Selection{Namespace: target.Scope(kind, namespace), Name: n.Name}
		all = append(all, wait.Target{Selection: sel, Kind: kind, Type: n.Type, Goal: o.goal})
	}
	return all, errors.Join(faults...)
}

// mayCome returns nil if the wait may continue for a type that is not served yet (edge case 45).
// Unless --existence-timeout is given, a type whose name is similar to that of a served type counts
// as a typo.
func (o *waitOptions) mayCome(missing *client.NoTypeError) error {
	existence := o.engine.Existence
	switch {
	case o.waitsFor(condition.Delete), o.timeout == 0, existence != nil && *existence == 0:
		return missing
	case existence == nil && len(missing.Near) > 0:
		return &object.HintedError{Err: missing, Advice: missing.Hint() + " If not, --existence-timeout=1m waits for the type"}
	}
	return nil
}

// versionName matches the version in widgets.v1.example.com, not the group in widgets.example.com.
var versionName = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)

// guessed returns the kind that a TYPE suggests. It may turn out to be cluster-scoped.
func guessed(typ string) object.Kind {
	gvk := schema.GroupVersionKind{}
	full, resource := schema.ParseResourceArg(typ)
	gvk.Kind, gvk.Group = resource.Resource, resource.Group
	if full != nil && versionName.MatchString(full.Version) {
		gvk.Kind, gvk.Version, gvk.Group = full.Resource, full.Version, full.Group
	}
	return object.Kind{GVK: gvk, Namespaced: true}
}
