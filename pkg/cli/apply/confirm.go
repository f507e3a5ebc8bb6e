package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
)

// lookahead is the set of changes a run would make, found before its first write.
type lookahead struct {
	plan   review.Plan
	engine diff.Engine
	reader object.LiveReader
	// keeps means that the run may reuse the predictions.
	keeps  bool
	member *setrun.Run
	// held means that the run must make exactly the planned changes.
	held bool
	// prefetched returns the objects that the comparison has read.
	prefetched *prefetch.Reader
	emit       func(event.Event)
	// reviewed is the plan that the run may continue; nil if only its digest is known.
	reviewed *review.Document
	// hide masks a text as the output does.
	hide func(string) string
	// changed returns the objects that the plan changes. It must not be called before the comparison.
	changed func() []object.Ref
	// failed lists the objects that could not be compared; unknown is the error that counts them.
	failed  []event.Applied
	unknown error

	// admit is apply's check of existing objects, or nil.
	admit func(plan.Item, *unstructured.Unstructured) error

	mu     sync.Mutex
	judged map[object.Key]judgement
	// barred lists the objects that admit refuses, because they belong to other owners. The run would not
	// write them.
	barred []event.Applied
}

// judgement is a prediction for one object. version is empty for a new object. prediction is nil if
// keeps is false.
type judgement struct {
	version    string
	prediction *predict.Prediction
	at         time.Time
}

const (
	// keptObjects is the largest number of objects whose predictions are kept. A larger run keeps
	// none, to save memory. After keptFor, a kept object is read again.
	keptObjects = 2_000
	keptFor     = 10 * time.Second
)

// approve finds out what the run would change, and asks for approval. It returns nil if every change
// is approved. member is nil if there is no set.
func (r *run) approve(ctx context.Context, member *setrun.Run, d applyset.Decision) (*lookahead, error) {
	if r.Approve == nil {
		return nil, nil
	}
	identity := r.connection.Identify(ctx, r.client)
	l, err := r.lookAhead(ctx, member, d)
	if err != nil {
		return nil, err
	}
	proposed := Proposal{Plan: &l.plan, Hide: r.connection.Vault.Text, Unknown: l.unknown, Covers: setrun.Covers(r.predictor.Manager, member)}
	if proposed.Cluster, err = identity(); err != nil {
		return nil, err
	}
	if r.lock != nil {
		if last, _, err := r.lock.Last(); err == nil {
			proposed.Last = last
		}
	}
	if member != nil && r.Confirms != "" {
		if proposed.Newest, err = member.Newest(ctx); err != nil {
			return nil, err
		}
		proposed.Same = proposed.Newest.ID != "" && proposed.Newest.Input == setrun.InputOf(r.plan)
	}
	if l.held, err = r.Approve(proposed); err == nil && l.held {
		err = r.checkRefusals(ctx, l)
	}
	if err != nil {
		l.reportFailed()
		r.Out.Print(event.Refused{Err: err})
		return nil, err
	}
	l.prefetched = prefetch.Start(ctx, l, r.plan)
	return l, nil
}

// confirm restricts the run to the reviewed changes if --confirm was given.
func (o *Options) confirm(given string, changed bool, stderr io.Writer) error {
	switch {
	case !changed:
		return nil
	case given == "": // Perhaps a variable that is not set.
		return errors.New("--confirm needs a digest or a file")
	case o.dryRun == object.DryRunClient:
		return errors.New("--confirm and --dry-run=client cannot be combined: only the server knows what would change")
	}
	c, err := confirmationOf(given, func(text string) { fmt.Fprintln(stderr, text) })
	if err != nil {
		return err
	}
	o.reviewed, o.Confirms = c.reviewed, c.digest
	o.live, o.ask, o.Set.Reviewed = nil, nil, true
	o.Approve = func(p Proposal) (bool, error) {
		if p.Unknown != nil {
			return false, p.Unknown
		}
		err := c.allows(p, time.Now())
		if err == nil && p.Plan.Contested() && !o.continueOnConflict {
			err = verb.Unconfirmed("settle the conflicts with --take or --yield in diff and apply; or apply the other objects with --continue-on-conflict",
				"nothing was written: the plan contains conflicts, at which apply would stop halfway")
		}
		return err == nil, err
	}
	return nil
}

func (r *run) lookAhead(ctx context.Context, member *setrun.Run, d applyset.Decision) (*lookahead, error) {
	l := &lookahead{
		reader: r.client, keeps: r.plan.Len() <= keptObjects, member: member, emit: r.Out.Print, judged: map[object.Key]judgement{},
		reviewed: r.reviewed, hide: r.connection.Vault.Text,
	}
	l.changed = sync.OnceValue(func() []object.Ref {
		var refs []object.Ref
		for _, o := range l.plan.Outcomes() {
			refs = append(refs, o.Ref)
		}
		return refs
	})
	r.readMasked(ctx)
	l.engine = diff.Engine{
		Predictor: r.predictorOf(member), Server: r.client, Prefetched: r.prefetched,
		Emit: l.onEvent, Judged: l.judge, Unmasked: l.plan.SeeSecret,
	}
	l.admit = r.others.Admit(r.predictor)
	if member != nil {
		l.admit = member.Admit
		setrun.SeeDoomed(&l.plan, d)
	}
	if err := l.findGone(ctx, r.client, d); err != nil {
		return nil, err
	}
	for item := range r.plan.Items() { // The server need not serve its kind yet.
		l.plan.Learn(item.Object)
	}
	if r.reviewed != nil {
		for _, was := range r.reviewed.Outcomes {
			l.plan.Name(was.Ref)
		}
	}
	err := l.engine.Run(ctx, r.plan)
	if ctx.Err() != nil {
		l.skip(r.plan, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	if unknown, ok := errors.AsType[*diff.UnknownError](err); ok {
		l.unknown = errors.New("nothing was written: " + unknown.Error())
		return l, nil
	}
	if err != nil && !errors.Is(err, diff.ErrDiffers) {
		return nil, err
	}
	return l, nil
}

// readMasked reads the Secrets whose values the reviewed plan may mask although they are not part of
// it, so that this run masks them, too. A value that stays visible counts as another one.
func (r *run) readMasked(ctx context.Context) {
	if r.reviewed == nil {
		return
	}
	for _, namespace := range r.reviewed.Masked() {
		if namespace != "" {
			secrets := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
			_ = r.client.Select(ctx, secrets, object.Selection{Namespace: namespace}, "", func(*unstructured.Unstructured) {})
		}
	}
}

// onEvent adds an event to the plan, and collects the objects that could not be compared, unless an
// interrupt is the reason.
func (l *lookahead) onEvent(e event.Event) {
	l.plan.See(e)
	if c, ok := e.(event.Compared); ok && c.Action == event.Unknown && !errors.Is(c.Err, context.Canceled) {
		l.failed = append(l.failed, event.Applied{Ref: c.Ref, Source: c.Source, Action: event.Failed, Err: c.Err})
	}
}

// reportFailed reports the objects that could not be compared, for a run that ends without writes.
func (l *lookahead) reportFailed() {
	for _, e := range l.failed {
		l.emit(e)
	}
}

// skip reports the objects of an interrupted check, which has written nothing.
func (l *lookahead) skip(p *plan.Plan, why error) {
	l.reportFailed()
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			if !slices.ContainsFunc(l.failed, func(e event.Applied) bool { return e.Ref == item.Ref }) {
				l.emit(event.Applied{Ref: item.Ref, Source: item.Source, Action: event.Skipped, Err: why})
			}
		}
	}
}

func (l *lookahead) judge(p *predict.Prediction, changes bool) {
	l.plan.Learn(p.Live)
	if l.reviewed != nil {
		if was := l.reviewed.Outcomes[p.Item.Key()]; was.Unchecked && was.Action == event.Create {
			l.plan.Declare(p.Item.Ref, p.Item.Object.Object)
		}
	}
	if !changes {
		l.reach(p)
	}
	l.checkOwner(p.Item, p.Live)
	j := judgement{at: time.Now()}
	if p.Live != nil {
		j.version = p.Live.GetResourceVersion()
	}
	if l.keeps {
		j.prediction = p
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.judged[p.Item.Key()] = j
}

// reach records an object that would not change now, if the reviewed plan changes it.
func (l *lookahead) reach(p *predict.Prediction) {
	if l.reviewed == nil || p.Live == nil {
		return
	}
	if was, changes := l.reviewed.Outcomes[p.Item.Key()]; changes {
		defer p.Reuse()()
		if owned, err := l.engine.Owned(p, was.Action); err == nil {
			l.plan.Reach(was, owned, p.Live, l.hide)
		}
	}
}

// findGone records which of the members that the reviewed plan deletes are gone.
func (l *lookahead) findGone(ctx context.Context, server *client.Client, d applyset.Decision) error {
	if l.reviewed == nil {
		return nil
	}
	for key, was := range l.reviewed.Outcomes {
		if !was.Departed || slices.ContainsFunc(d.Doomed, func(m applyset.Member) bool { return m.Ref.Key() == key }) {
			continue
		}
		// The server chose the version at the review, and may have dropped it since.
		kind, err := server.Preferred(ctx, was.Ref.GVK.GroupKind())
		var live *unstructured.Unstructured
		if err == nil {
			live, err = server.Get(ctx, kind, was.Ref)
		}
		switch {
		case apierrors.IsNotFound(err), store.IsUnserved(err), err == nil && live.GetUID() != was.UID:
			l.plan.ReachGone(was.Ref)
		case err != nil:
			return err
		}
	}
	return nil
}

// Judged implements [apply.Review]. It treats a namespace that this run has just created for its
// set as absent.
func (l *lookahead) Judged(item plan.Item, live *unstructured.Unstructured) *predict.Prediction {
	version := ""
	if live != nil && !l.member.Made(item.Key()) {
		version = live.GetResourceVersion()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	j, ok := l.judged[item.Key()]
	switch {
	case !ok || j.version != version:
		return nil
	case j.prediction == nil, live != nil && version == "":
		return &predict.Prediction{}
	}
	return j.prediction
}

// Confirms implements [apply.Review]. It does not predict the result of a create, because a create
// fails if the object exists.
func (l *lookahead) Confirms(p *predict.Prediction, anew *predict.Recreation) error {
	now := event.Compared{Ref: p.Item.Ref, Action: event.Create}
	if p.Live != nil {
		var err error
		if now, err = l.engine.Outcome(p, anew); err != nil {
			return err
		}
	}
	if found := l.plan.Confirms(now); len(found) > 0 {
		return unreviewedError("the result would differ from what was confirmed: " + strings.Join(messagesOf(found, time.Now()), "; "))
	}
	return nil
}

// Live returns objects that the comparison has just read, without sending another request.
func (l *lookahead) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	var rest []object.Ref
	var at []int
	for i, ref := range refs {
		l.mu.Lock()
		j, ok := l.judged[ref.Key()]
		l.mu.Unlock()
		if ok && j.prediction != nil && j.prediction.Item.GVK == ref.GVK && time.Since(j.at) < keptFor && !l.member.Made(ref.Key()) {
			visit(i, j.prediction.Live, nil)
			continue
		}
		rest, at = append(rest, ref), append(at, i)
	}
	if len(rest) > 0 {
		l.reader.Live(ctx, kind, rest, func(i int, live *unstructured.Unstructured, err error) { visit(at[i], live, err) })
	}
}
