package diagnose

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// sideBySide is the number of parallel requests.
	sideBySide = 24
	// readTimeout is the limit for one read.
	readTimeout = 4 * time.Second
	// budget is the number of requests for one explanation, or one survey.
	budget = 600
	// rounds is how often the rules may ask for more.
	rounds = 12
)

// Gatherer reads what the rules ask for, and nothing else. Reader is required. It is safe
// for concurrent use.
type Gatherer struct {
	Reader Reader
	// Now returns the time; nil means the clock.
	Now func() time.Time
	// ReadTimeout is the limit for one read; 0 means 4 seconds.
	ReadTimeout time.Duration
	// Budget is the number of requests for one explanation; 0 means 600. Questions
	// beyond it are reported as not read.
	Budget int
	// WorthList is the number of objects of a kind and namespace from which one list
	// is read instead of each object; 0 means 4.
	WorthList int

	mu   sync.Mutex
	sent int
}

// Requests is the number of requests sent so far.
func (g *Gatherer) Requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent
}

// Time is the current time.
func (g *Gatherer) Time() time.Time {
	if g.Now == nil {
		return time.Now()
	}
	return g.Now()
}

// Fill runs the rules and reads what they ask for, until they ask for nothing more. Unreadable
// facts are marked; an error means that ctx ended.
func (g *Gatherer) Fill(ctx context.Context, f *Facts, rules func(*Run)) error {
	left := cmp.Or(g.Budget, budget)
	for round := 0; ; round++ {
		r := NewRun(g.Time(), f)
		rules(r)
		if len(r.asked) == 0 {
			return nil
		}
		if round == rounds {
			for q := range r.asked {
				f.put(q, Answer{Err: ErrNotAsked})
			}
			return nil
		}
		batch := batches(f, r.asked, cmp.Or(g.WorthList, worthList))
		if len(batch) > left {
			for _, q := range batch[left:] {
				f.put(q, Answer{Err: ErrNotAsked})
			}
			batch = batch[:left]
		}
		left -= len(batch)
		if err := g.askAll(ctx, f, batch, r.asked); err != nil {
			return err
		}
		if f.allTroubled(batch) { // The next batch would fail as well.
			return nil
		}
	}
}

// AskAll asks questions in parallel.
func (g *Gatherer) AskAll(ctx context.Context, f *Facts, questions []Question) error {
	return g.askAll(ctx, f, questions, nil)
}

func (g *Gatherer) askAll(ctx context.Context, f *Facts, questions []Question, collectors map[Question]func() Collector) error {
	turns := make(chan struct{}, sideBySide)
	var wait sync.WaitGroup
	for _, q := range questions {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if ctx.Err() != nil { // Unknown is not absent.
				f.put(q, Answer{Err: context.Cause(ctx)})
				return
			}
			f.put(q, g.ask(ctx, f, q, collectors[q]))
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// ask sends one request.
func (g *Gatherer) ask(ctx context.Context, f *Facts, q Question, collector func() Collector) (a Answer) {
	g.mu.Lock()
	g.sent++
	g.mu.Unlock()
	a.at = g.Time()
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(g.ReadTimeout, readTimeout), ErrSlow)
	defer cancel()
	sel := object.Selection{Namespace: q.Namespace, Name: q.Name, Labels: q.Labels}
	ref := object.Ref{GVK: q.GVK, Namespace: q.Namespace, Name: q.Name}
	switch q.Verb {
	case Get:
		a.Object, a.Err = g.Reader.Get(ctx, q.GVK, q.Namespace, q.Name)
	case Exists:
		a.Yes, a.Err = g.Reader.Exists(ctx, ref)
	case List:
		a.Objects, a.More, a.Err = g.list(ctx, q, sel, collector)
	case Metadata:
		var items []unstructured.Unstructured
		items, a.Err = g.Reader.Metadata(ctx, q.GVK, sel)
		a.Objects = pointers(items, q.GVK)
	case Kinds:
		a.Kinds, a.Err = g.Reader.Kinds(ctx)
	case Allowed:
		a.Yes, a.Err = g.Reader.Allowed(ctx, q.User, q.Detail, ref)
	case Replay:
		a.Err = g.replay(ctx, f, ref, q.Detail)
	}
	return a
}

// list reads objects page by page, each object once: a reader may start over when a
// page is too old to continue from.
func (g *Gatherer) list(ctx context.Context, q Question, sel object.Selection, collector func() Collector) ([]*unstructured.Unstructured, int, error) {
	var keep Collector = &everything{}
	if collector != nil {
		keep = collector()
	}
	seen := map[types.UID]bool{}
	err := g.Reader.Select(ctx, q.GVK, sel, q.Fields, func(u *unstructured.Unstructured) {
		if uid := u.GetUID(); uid != "" {
			if seen[uid] {
				return
			}
			seen[uid] = true
		}
		keep.Add(u)
	})
	if err != nil {
		return nil, 0, err
	}
	objects, more := keep.Collected()
	return objects, more, nil
}

// everything is a Collector that keeps all objects.
type everything struct{ objects []*unstructured.Unstructured }

func (e *everything) Add(u *unstructured.Unstructured) { e.objects = append(e.objects, u) }

func (e *everything) Collected() ([]*unstructured.Unstructured, int) { return e.objects, 0 }

// replay tries to remove a finalizer from the object as it was read.
func (g *Gatherer) replay(ctx context.Context, f *Facts, ref object.Ref, finalizer string) error {
	live := f.object(ref)
	if live == nil {
		return errGone
	}
	return g.Reader.DryRunRemoveFinalizer(ctx, ref, live, finalizer)
}

func pointers(items []unstructured.Unstructured, gvk schema.GroupVersionKind) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, len(items))
	for i := range items {
		items[i].SetGroupVersionKind(gvk) // Items of a list may lack it.
		objects[i] = &items[i]
	}
	return objects
}

var (
	// ErrSlow says that a read was not answered in time.
	ErrSlow error = slowError{}
	// ErrNotAsked stands for a question beyond the budget, which was not asked.
	ErrNotAsked = errors.New("not read: the limit of requests for one explanation is reached")

	errGone = errors.New("it no longer exists")
)

type slowError struct{}

func (slowError) Error() string { return "no answer in time" }

// Unreachable marks errors that say nothing about the object.
func (slowError) Unreachable() bool { return true }

// Slow reports whether the only thing known is that no answer came in time.
func Slow(err error) bool { return errors.Is(err, ErrSlow) }

// Denied reports whether we lacked permission to read.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// Troubled reports whether an error is about the server rather than the question.
func Troubled(err error) bool {
	var unreachable interface{ Unreachable() bool }
	return errors.As(err, &unreachable) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsUnexpectedServerError(err)
}
