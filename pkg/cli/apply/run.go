package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/choices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/additions"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/always"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/await"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/others"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/preflight"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/removal"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/rewriters"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/document"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Execute reads the input and applies it.
func (o *Options) Execute(ctx context.Context, in verb.Invocation) error {
	return o.strict.End(o.execute(ctx, in), in.Warned)
}

func (o *Options) execute(ctx context.Context, in verb.Invocation) error {
	o.Input.Prefetch = o.Set.Name == ""
	if err := o.Input.Read(ctx, in.Connection, in.Streams, o.Out.Print); err != nil {
		return verb.Finish(err, o.Out.Close(ctx))
	}
	if o.printed {
		return o.Input.Incomplete(verb.Finish(o.print(ctx, in)))
	}
	err := o.apply(ctx, in)
	defer func() {
		o.live.Finish(o.Out.InFlags())
		o.rules.Explain(in.Streams.ErrOut)
	}()
	return o.Input.Incomplete(verb.Finish(err, o.Out.Close(ctx)))
}

func (o *Options) apply(ctx context.Context, in verb.Invocation) error {
	r, err := o.begin(ctx, in)
	if err != nil {
		return err
	}
	defer r.done()
	err = r.carryOutAll(ctx)
	if o.role && ctx.Err() == nil {
		if failed := r.printRole(ctx, in.Streams.Out); failed != nil {
			return failed
		}
	}
	return err
}

func (r *run) carryOutAll(ctx context.Context) error {
	if r.Set.Name != "" {
		return verb.Unfinished(r.applySet(ctx))
	}
	reviewed, err := r.approve(ctx, nil, applyset.Decision{})
	if err != nil {
		return err
	}
	return verb.Unfinished(r.rollBack(ctx, r.carryOut(ctx, r.engine(ctx, nil, reviewed, r.emit))))
}

// run is one apply of a plan to a cluster. All its fields are set when it begins, except those under
// "results".
type run struct {
	*Options
	connection *connection.Connection
	client     *client.Client
	plan       *plan.Plan
	predictor  predict.Predictor
	prefetched *prefetch.Reader
	// lock is the lock of the set; nil if the run writes to no set.
	lock      *setrun.Locking
	preflight *preflight.Run
	leaving   *setrun.LeavingMembers
	added     *additions.Collector
	rewriters rewriters.Collector
	// wait waits for objects to be ready; nil if the run waits for nothing.
	wait func(context.Context, []plan.Item) error
	emit func(event.Event)
	done func()

	results struct {
		// pruned lists the objects that the run deleted from its set, in the order of apply.
		pruned *plan.Plan
		// member is the run of the set, or nil. deleted lists the objects that a run would delete
		// that prints its role; probed, those about which it asks the server as if they were new.
		member          *setrun.Run
		deleted, probed []object.Ref
		// undone means that this run was rolled back.
		undone bool
	}
}

// check refuses choices that do not fit the input.
func (o *Options) check(p *plan.Plan) error { return choices.Check(p, o.Predictor, o.Out.Print) }

// begin connects to the cluster and plans the run. It writes nothing. in.Cmd.Context() outlives ctx,
// which ends when --timeout expires.
func (o *Options) begin(ctx context.Context, in verb.Invocation) (*run, error) {
	r := &run{Options: o, connection: in.Connection, predictor: o.Predictor, leaving: &setrun.LeavingMembers{Leave: o.Set.Leave}, added: &additions.Collector{Predictor: o.Predictor}}
	if o.Set.Name != "" && o.dryRun == object.DryRunNone {
		r.lock = setrun.New(in.Connection, o.Run, o.LockWithin, o.Out.Print)
	}
	var err error
	if r.client, err = in.Connect(ctx, o.Run, o.concurrency, o.Out.Print); err != nil {
		return nil, err
	}
	if r.plan, err = o.Input.Plan(ctx, in.Connection, r.client, o.check, o.Out.Print); err != nil {
		return nil, err
	}
	r.predictor.Schema, r.done = o.Input.Types(ctx, r.client, r.plan)
	if err := o.Awaited.Check(ctx, r.client, r.plan); err != nil {
		r.done()
		return nil, err
	}
	r.prefetched = o.Input.Prefetched()
	r.preflight = preflight.New(o.Out.Print, o.Set.Prune, r.plan)
	until, _ := ctx.Deadline()
	r.emit = r.rewriters.Watch(forecasting(until, o.Out.Print))
	if o.role {
		r.emit = r.deletes(r.emit)
	}
	r.wait = r.preflight.Before(o.Awaited.Gate(in.Cmd.Context(), r.client, until, in.Vault.Text, o.Out.Print), r.plan)
	return r, nil
}

// engine returns the engine of the run, which reports to emit. member is the run of the set, or nil.
// reviewed limits the writes to what was reviewed, or is nil.
func (r *run) engine(ctx context.Context, member *setrun.Run, reviewed *lookahead, emit func(event.Event)) *apply.Engine {
	e := &apply.Engine{
		Server: r.client, Predictor: r.predictorOf(member), Scope: r.Input.Scope, Prefetched: r.prefetched,
		DryRun: r.dryRun, AwaitKinds: r.awaitKinds, ContinueOnConflict: r.continueOnConflict, Objects: r.objects,
		Decide: r.live.Asks(len(r.plan.Phases), always.Keeper{File: r.rulesFile, Plan: r.plan}), Wait: r.wait, OnRead: r.see,
		Remove: removal.Remover{Client: r.client, Emit: r.Out.Print}.Remove,
		Emit:   emit,
	}
	if r.Journal != nil {
		e.Journal = r.Journal
	}
	if member == nil {
		e.Admit = r.others.Admit(r.predictor)
		e.OnPhase = func(all []*predict.Prediction) {
			c := others.Collector{Manager: r.predictor.Manager, Absent: others.Absent(ctx, r.client)}
			for _, p := range all {
				c.Predicted(p)
			}
			c.Warn(r.Out.Print)
		}
		e.OnRead = func(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
			r.see(item, before, after, changes)
			r.leaving.See(item, before, after, changes)
		}
	} else {
		e.Admit, e.Emit = member.Admit, func(ev event.Event) { emit(member.Mark(ev)) }
	}
	if reviewed != nil {
		e.Prefetched = reviewed.prefetched
		if reviewed.held {
			e.Review = reviewed
		}
	}
	return e
}

func (r *run) see(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
	r.preflight.See(item, before, after, changes)
	if before == nil {
		return
	}
	r.added.See(item, after, func(o managedfields.Owner) bool { // A dry run does not show the adoption.
		from := r.predictor.AdoptFrom
		return r.dryRun != object.DryRunNone && (slices.Contains(from.Always, o.Manager) || slices.Contains(from.Once, o.Manager))
	})
}

// predictorOf returns the predictor for a run of the set, or for a run without a set.
func (r *run) predictorOf(member *setrun.Run) predict.Predictor {
	p := r.predictor
	if member == nil {
		p.Carry = r.leaving.Carry()
	} else {
		p.Take = slices.Concat(p.Take, r.Set.AdoptionChoices())
	}
	return p
}

// carryOut applies the plan, and reports what else is notable about its objects.
func (r *run) carryOut(ctx context.Context, e *apply.Engine) error {
	err := r.rules.Watch(r.plan, r.Input.Beside(ctx, r.client), r.Out.Print, e.Run(ctx, r.plan))
	var reader diagnose.Reader
	if r.dryRun == object.DryRunServer {
		reader = r.client.NoRetry()
	}
	r.preflight.Report(ctx, r.plan, reader)
	r.added.Report(r.Out.Print)
	r.rewriters.Report(ctx, r.plan, r.client.NoRetry(), r.Out.Print)
	if r.dryRun == object.DryRunNone {
		r.preflight.ReportKept(ctx)
		if err == nil && r.Awaited.Waits() {
			await.ReportDiffering(ctx, r.client.NoRetry(), r.plan, r.Out.Print)
		}
	}
	return err
}

// result returns the result to record in the history. A run that skipped input counts as failed, so
// that no rollback restores an incomplete run.
func (r *run) result(err error) history.Result {
	switch {
	case r.results.undone:
		return history.RolledBack
	case err != nil, r.Input.LeftOut():
		return history.Failed
	default:
		return history.Applied
	}
}

var errNothingApplied error = &object.HintedError{
	Err:    errors.New("-o manifests prints manifests and applies nothing"),
	Advice: "add --dry-run=client, or use -o objects, which applies and prints the result",
}

// print does not contact a server, so that the same input always gives the same output. It does not
// mask Secrets, because the printed manifests will be applied.
func (o *Options) print(ctx context.Context, in verb.Invocation) (err, closed error) {
	p, err := o.Input.Arrange(in.Connection, o.Out.Print, func() (map[schema.GroupVersionKind]object.Kind, error) {
		return plan.BuiltinKinds(o.Input.Manifests), nil
	})
	if err == nil {
		err = o.check(p)
	}
	if err != nil {
		return err, o.Out.Close(ctx)
	}
	phases := make([]document.ManifestPhase, len(p.Phases))
	for i, ph := range p.Phases {
		phases[i].Name = ph.Name
		for _, item := range ph.Items {
			phases[i].Objects = append(phases[i].Objects, item.Object)
			if content := item.Object.Object; redact.IsSecret(item.Ref) && (content["data"] != nil || content["stringData"] != nil) {
				o.Out.Print(event.Warned{Ref: item.Ref, Text: "its values are printed unmasked"})
			}
		}
	}
	return nil, errors.Join(document.WriteManifests(connection.Bare(in.Streams.Out), phases), o.Out.Close(ctx))
}
