package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/budget"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/waitcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

func (o *applyOptions) Execute(ctx context.Context, in verb.Invocation) error {
	return o.strict.End(o.apply(ctx, in), in.Warned)
}

func (o *applyOptions) apply(ctx context.Context, in verb.Invocation) error {
	connect := func() (*client.Client, error) { return in.Connect(ctx, o.run, o.concurrency, o.out.Print) }
	o.input.Prefetch = o.set.Name == ""
	if err := o.input.Read(ctx, in.Connection, in.Streams, o.out.Print); err != nil {
		return verb.Finish(err, o.out.Close(ctx))
	}
	if o.printed {
		return o.input.Incomplete(verb.Finish(manifests{&o.input, o.predictor, o.out}.print(ctx, in.Connection, in.Streams)))
	}
	err := o.work(ctx, in.Cmd.Context(), in.Connection, connect)
	defer func() {
		o.live.PrintCommand(o.out.InFlags())
		o.rules.Explain(in.Streams.ErrOut)
	}()
	return o.input.Incomplete(verb.Finish(err, o.out.Close(ctx)))
}

// work does the run and reports to the printer. ctx ends with the run's --timeout,
// patient does not.
func (o *applyOptions) work(ctx, patient context.Context, c *connection.Connection, connect func() (*client.Client, error)) error {
	if o.set.Name != "" && o.dryRun == object.DryRunNone {
		o.lock = sets.New(c, o.run, o.lockWithin, o.out.Print)
	}
	client, err := connect()
	if err != nil {
		return err
	}
	p, err := o.input.Plan(ctx, c, client, o.predictor, o.out.Print)
	if err != nil {
		return err
	}
	done := o.input.Types(ctx, client, p, &o.predictor)
	defer done()
	if err := o.awaited.Check(ctx, client, p); err != nil {
		return err
	}
	foresight := newForesight(o.out.Print, o.set.Prune, p)
	leavers := sets.LeavingMembers{Leave: o.set.Leave}
	until, _ := ctx.Deadline()
	ready := o.awaited.Gate(patient, client, until, c.Vault.Text, o.out.Print)
	o.engine = o.newEngine(client, p, until)
	o.engine.Seen, o.engine.Wait = foresight.see, foresight.before(ready, p)
	if o.set.Name == "" {
		o.engine.Predictor.Carry, o.engine.Seen = leavers.Carry(), seeing(foresight.see, leavers.See)
	}
	run := func(ctx context.Context) error {
		err := o.rules.Watch(p, o.input.Beside(ctx, client), o.out.Print, o.engine.Run(ctx, p))
		foresight.report(ctx, p, o.asked(client))
		if o.dryRun == object.DryRunNone {
			foresight.tellKept(ctx)
		}
		if err == nil && o.awaited.Waits() && o.dryRun == object.DryRunNone {
			waitcmd.TellDiffering(ctx, client.NoRetry(), p, o.out.Print)
		}
		return err
	}
	back := func(ctx context.Context, failed error) error {
		err := o.rollBack(ctx, client, p, failed)
		if !o.undone {
			leavers.Warn(ctx, client, o.dryRun != object.DryRunNone, o.out.Print)
		}
		return err
	}
	if o.set.Name != "" {
		return verb.Unfinished(o.applySet(ctx, c, client, p, run, back))
	}
	return verb.Unfinished(back(ctx, run(ctx)))
}

// newEngine returns the engine of a run that has until the given time; zero means no end.
func (o *applyOptions) newEngine(client *client.Client, p *plan.Plan, until time.Time) *apply.Engine {
	engine := &apply.Engine{
		Server: client, Predictor: o.predictor, Scope: o.input.Scope, Prefetched: o.input.Prefetched(),
		DryRun: o.dryRun, AwaitKinds: o.awaitKinds, ContinueOnConflict: o.continueOnConflict, Objects: o.objects,
		Decide: o.live.Asks(len(p.Phases)), Remove: remover{client, o.out.Print}.ofItem,
		Emit: forecasting(until, o.out.Print),
	}
	if o.journal != nil {
		engine.Journal = o.journal
	}
	return engine
}

// asked returns the reader for questions about what will not work. It is nil for a real
// apply, which has work to do; findings that need only the set are reported anyway.
func (o *applyOptions) asked(client *client.Client) diagnose.Reader {
	if o.dryRun == object.DryRunServer {
		return client.NoRetry()
	}
	return nil
}

// forecasting passes events on, and warns once if the run will not be done by end; a zero
// time means no end.
func forecasting(end time.Time, emit func(event.Event)) func(event.Event) {
	if end.IsZero() {
		return emit
	}
	f := budget.New(end)
	return func(e event.Event) {
		emit(e)
		if short, ok := f.Observe(time.Now(), e); ok {
			emit(event.Warned{Text: fmt.Sprintf(
				"at this pace, about %d of %d objects will be applied before --timeout expires in %s; the next run does the rest",
				short.Done, short.Total, short.Left.Round(time.Second))})
		}
	}
}
