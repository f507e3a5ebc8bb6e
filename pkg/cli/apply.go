package cli

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/waitcmd"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/document"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

func (o *applyOptions) Execute(ctx context.Context, in verb.Invocation) error {
	return o.strict.End(o.apply(ctx, in), in.Warned)
}

func (o *applyOptions) apply(ctx context.Context, in verb.Invocation) error {
	o.input.Prefetch = o.set.Name == ""
	if err := o.input.Read(ctx, in.Connection, in.Streams, o.out.Print); err != nil {
		return verb.Finish(err, o.out.Close(ctx))
	}
	if o.printed {
		return o.input.Incomplete(verb.Finish(o.print(ctx, in)))
	}
	err := o.work(ctx, in)
	defer func() {
		o.live.PrintCommand(o.out.InFlags())
		o.rules.Explain(in.Streams.ErrOut)
	}()
	return o.input.Incomplete(verb.Finish(err, o.out.Close(ctx)))
}

// ctx ends when --timeout expires; in.Cmd.Context() does not.
func (o *applyOptions) work(ctx context.Context, in verb.Invocation) error {
	c := in.Connection
	if o.set.Name != "" && o.dryRun == object.DryRunNone {
		o.lock = sets.New(c, o.run, o.lockWithin, o.out.Print)
	}
	client, err := c.Connect(ctx, o.run, o.concurrency, o.out.Print)
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
	ready := o.awaited.Gate(in.Cmd.Context(), client, until, c.Vault.Text, o.out.Print)
	o.engine = o.newEngine(client, p, until)
	o.engine.Seen, o.engine.Wait = foresight.see, foresight.before(ready, p)
	if o.set.Name == "" {
		o.engine.Predictor.Carry, o.engine.Seen = leavers.Carry(), seeing(foresight.see, leavers.See)
	}
	run := func(ctx context.Context) error {
		err := o.rules.Watch(p, o.input.Beside(ctx, client), o.out.Print, o.engine.Run(ctx, p))
		var reader diagnose.Reader
		if o.dryRun == object.DryRunServer {
			reader = client.NoRetry()
		}
		foresight.report(ctx, p, reader)
		if o.dryRun == object.DryRunNone {
			foresight.tellKept(ctx)
			if err == nil && o.awaited.Waits() {
				waitcmd.TellDiffering(ctx, client.NoRetry(), p, o.out.Print)
			}
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
	if o.approve != nil {
		if err := o.approval(ctx, client, p, nil, applyset.Decision{}); err != nil {
			return err
		}
	}
	return verb.Unfinished(back(ctx, run(ctx)))
}

func (o *applyOptions) newEngine(client *client.Client, p *plan.Plan, until time.Time) *apply.Engine {
	engine := &apply.Engine{
		Server: client, Predictor: o.predictor, Scope: o.input.Scope, Prefetched: o.input.Prefetched(),
		DryRun: o.dryRun, AwaitKinds: o.awaitKinds, ContinueOnConflict: o.continueOnConflict, Objects: o.objects,
		Decide: o.live.Asks(len(p.Phases)), Remove: remover{client, o.out.Print}.remove,
		Emit: forecasting(until, o.out.Print),
	}
	if o.journal != nil {
		engine.Journal = o.journal
	}
	return engine
}

var errNothingApplied error = &object.HintedError{
	Err:    errors.New("-o manifests prints manifests and applies nothing"),
	Advice: "add --dry-run=client, or use -o objects, which applies and prints the result",
}

// print does not contact a server, so that the same input always gives the same output. It does not
// mask Secrets, because the printed manifests will be applied.
func (o *applyOptions) print(ctx context.Context, in verb.Invocation) (err, closed error) {
	p, err := o.input.Arrange(in.Connection, o.out.Print, func() (map[schema.GroupVersionKind]object.Kind, error) {
		return plan.BuiltinKinds(o.input.Manifests), nil
	})
	if err == nil {
		err = input.Check(p, o.predictor, o.out.Print)
	}
	if err != nil {
		return err, o.out.Close(ctx)
	}
	phases := make([]document.ManifestPhase, len(p.Phases))
	for i, ph := range p.Phases {
		phases[i].Name = ph.Name
		for _, item := range ph.Items {
			phases[i].Objects = append(phases[i].Objects, item.Object)
			if content := item.Object.Object; redact.IsSecret(item.Ref) && (content["data"] != nil || content["stringData"] != nil) {
				o.out.Print(event.Warned{Ref: item.Ref, Text: "its values are printed unmasked"})
			}
		}
	}
	return nil, errors.Join(document.WriteManifests(connection.Bare(in.Streams.Out), phases), o.out.Close(ctx))
}
