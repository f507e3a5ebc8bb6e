package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
)

// lookahead is what a run would make of its objects, found before its first write. The run is held
// to it, and does not read again what it has just read.
type lookahead struct {
	plan   review.Plan
	engine diff.Engine
	reader object.LiveReader
	// keeps: predictions are kept, so that the run need not read and ask again. Those of a large set
	// would take too much memory.
	keeps bool
	run   *sets.Run // nil without a set
	emit  func(event.Event)

	mu     sync.Mutex
	judged map[object.Key]judgement
}

// judgement is a prediction, and the version of the object that it is about; empty where there was
// none. prediction is nil if it is not kept.
type judgement struct {
	version    string
	prediction *predict.Prediction
	at         time.Time
}

const (
	// keptObjects is the size of a set up to which all objects are kept, and keptFor is for how
	// long they stand for what the server has; as with what is read ahead.
	keptObjects = 2_000
	keptFor     = 10 * time.Second
)

// approval finds out what the run comes to, asks whether that may be done, and holds the run to it.
// run is nil without a set; d are then the members that leave it.
func (o *applyOptions) approval(ctx context.Context, client *client.Client, p *plan.Plan, run *sets.Run, d applyset.Decision) error {
	l, err := o.lookAhead(ctx, client, p, run, d)
	if err != nil {
		return err
	}
	held, err := o.approve(&l.plan, reviewedOf(o.predictor, run))
	if err != nil {
		return err
	}
	if held {
		o.engine.Review = l
	}
	o.engine.Prefetched = prefetch.Start(ctx, l, p)
	return nil
}

// reviewedOf is what a digest is of besides the objects: the field manager that owns them then, and
// the set whose members they are.
func reviewedOf(p predict.Predictor, run *sets.Run) []string {
	if run == nil {
		return []string{p.Manager}
	}
	return []string{p.Manager, run.Set().ID()}
}

// confirm holds the run to what was reviewed, if the flag was given. Nothing is asked then.
func (o *applyOptions) confirm(given string, changed bool) error {
	switch {
	case !changed:
		return nil
	case given == "": // Perhaps a variable that is not set.
		return errors.New("--confirm needs a digest or a file")
	case o.dryRun == object.DryRunClient:
		return errors.New("--confirm and --dry-run=client cannot be combined: only the server says what would change")
	}
	c, err := confirmationOf(given)
	if err != nil {
		return err
	}
	o.live, o.ask, o.set.Reviewed = nil, nil, true
	o.approve = func(p *review.Plan, of []string) (bool, error) { return true, c.allows(p, of, time.Now()) }
	return nil
}

// lookAhead compares the plan as diff does, and writes nothing. run is nil without a set; d are then
// the members that leave it.
func (o *applyOptions) lookAhead(
	ctx context.Context, client *client.Client, p *plan.Plan, run *sets.Run, d applyset.Decision,
) (*lookahead, error) {
	l := &lookahead{
		reader: client, keeps: members(p) <= keptObjects, run: run, emit: o.out.Print, judged: map[object.Key]judgement{},
	}
	l.engine = diff.Engine{
		Predictor: o.engine.Predictor, Server: client, Prefetched: o.engine.Prefetched,
		Emit: l.see, Judged: l.judge, Unmasked: l.plan.SeeSecret,
	}
	o.engine.Prefetched = nil
	if run != nil {
		l.engine.Admit = run.Admit
		l.engine.Predictor.Take = append(slices.Clone(l.engine.Predictor.Take), o.set.AdoptionChoices()...)
		sets.SeeDoomed(&l.plan, d)
	}
	err := l.engine.Run(ctx, p)
	if unknown, ok := errors.AsType[*diff.UnknownError](err); ok {
		return nil, errors.New("nothing was written: " + unknown.Error())
	}
	if err != nil && !errors.Is(err, diff.ErrDiffers) {
		return nil, err
	}
	return l, nil
}

// see takes in an event of the comparison. An object of which nothing can be said is reported, since
// it ends the run.
func (l *lookahead) see(e event.Event) {
	l.plan.See(e)
	if c, ok := e.(event.Compared); ok && c.Action == event.Unknown {
		l.emit(event.Applied{Ref: c.Ref, Source: c.Source, Action: event.Failed, Err: c.Err})
	}
}

func (l *lookahead) judge(p *predict.Prediction) {
	l.plan.Learn(p.Item.Object, p.Live)
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

// Judged is [apply.Review.Judged]. A namespace that this run has created for its set, with nothing but
// its name, counts as absent.
func (l *lookahead) Judged(item plan.Item, live *unstructured.Unstructured) *predict.Prediction {
	version := ""
	if live != nil && !l.made(item.Key()) {
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

func (l *lookahead) made(key object.Key) bool { return l.run != nil && l.run.Made(key) }

// Confirms is [apply.Review.Confirms]. A creation is bound to nothing being there, and comes to what
// the manifest says.
func (l *lookahead) Confirms(p *predict.Prediction, anew *predict.Recreation) error {
	now := event.Compared{Ref: p.Item.Ref, Action: event.Create}
	if p.Live != nil {
		var err error
		if now, err = l.engine.Outcome(p, anew); err != nil {
			return err
		}
	}
	if found := l.plan.Confirms(now); len(found) > 0 {
		return unreviewedError("the result would differ from what was confirmed: " + strings.Join(saidOf(found, time.Now()), "; "))
	}
	return nil
}

// Live is [object.LiveReader.Live], from what the comparison has read a moment before.
func (l *lookahead) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	var rest []object.Ref
	var at []int // the rest's places in refs
	for i, ref := range refs {
		l.mu.Lock()
		j, ok := l.judged[ref.Key()]
		l.mu.Unlock()
		if ok && j.prediction != nil && j.prediction.Item.GVK == ref.GVK && time.Since(j.at) < keptFor && !l.made(ref.Key()) {
			visit(i, j.prediction.Live, nil)
			continue
		}
		rest, at = append(rest, ref), append(at, i)
	}
	if len(rest) > 0 {
		l.reader.Live(ctx, kind, rest, func(i int, live *unstructured.Unstructured, err error) { visit(at[i], live, err) })
	}
}
