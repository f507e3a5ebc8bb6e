// Package diagnose gathers the facts that rules ask for, and finds an object's controller. It never
// changes the cluster. A rule is a function over a [Run]. Start with [Gatherer.Fill], which reads
// facts and runs the rule until it asks for no more. A fact that cannot be read is unknown; it does
// not count as absent.
package diagnose

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	sideBySide  = 24
	readTimeout = 4 * time.Second
	budget      = 600
	rounds      = 12
)

// Gatherer reads only the facts that the rules ask for. It is safe for concurrent use. Reader is
// required.
type Gatherer struct {
	Reader Reader
	Now    func() time.Time
	// ReadTimeout limits one read; 0 means 4 seconds.
	ReadTimeout time.Duration
	// Budget limits the requests for one explanation; 0 means 600. Questions beyond it fail with
	// [ErrNotAsked].
	Budget int
	// WorthList is the minimum number of objects of a kind and namespace for which one list
	// replaces single reads; 0 means 4.
	WorthList int

	mu   sync.Mutex
	sent int
}

// Requests returns the number of requests sent.
func (g *Gatherer) Requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent
}

// Time returns the current time.
func (g *Gatherer) Time() time.Time {
	if g.Now == nil {
		return time.Now()
	}
	return g.Now()
}

// Fill runs the rules and reads the facts that they ask for, until they ask for nothing new. The
// error of a failed read is the answer to its question. Fill returns an error only if ctx ends.
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
		if f.allTroubled(batch) { // The next batch would fail too.
			return nil
		}
	}
}

// AskAll answers questions concurrently.
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
			if ctx.Err() != nil { // A fact that was not read is unknown, not absent.
				f.put(q, Answer{Err: context.Cause(ctx)})
				return
			}
			f.put(q, g.read(ctx, f, q, collectors[q]))
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

func (g *Gatherer) read(ctx context.Context, f *Facts, q Question, collector func() Collector) (a Answer) {
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
		for i := range items {
			items[i].SetGroupVersionKind(q.GVK) // Items of a list may lack their apiVersion and kind.
			a.Objects = append(a.Objects, &items[i])
		}
	case Kinds:
		a.Kinds, a.Err = g.Reader.Kinds(ctx)
	case Allowed:
		a.Yes, a.Err = g.Reader.Allowed(ctx, q.User, q.Detail, ref)
	case Replay:
		a.Err = errGone
		if live := f.object(ref); live != nil {
			a.Err = g.Reader.DryRunRemoveFinalizer(ctx, ref, live, q.Detail)
		}
	}
	return a
}

// list drops duplicates. If a page token expires, the reader starts over and lists some objects
// twice.
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

type everything struct{ objects []*unstructured.Unstructured }

func (e *everything) Add(u *unstructured.Unstructured) { e.objects = append(e.objects, u) }

func (e *everything) Collected() ([]*unstructured.Unstructured, int) { return e.objects, 0 }

var (
	// ErrSlow is the error of a read that took too long.
	ErrSlow error = slowError{}
	// ErrNotAsked is the error for a question that exceeds the budget or the limit on rounds.
	ErrNotAsked = errors.New("not read: the explanation reached its request limit")

	errGone = errors.New("it no longer exists")
)

type slowError struct{}

func (slowError) Error() string { return "no answer in time" }

func (slowError) Unreachable() bool { return true }

// Slow reports whether a read timed out.
func Slow(err error) bool { return errors.Is(err, ErrSlow) }

// Denied reports whether an error says that we lack a permission.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// Troubled reports whether an error is about the server as a whole rather than about one question.
func Troubled(err error) bool {
	return object.IsUnanswered(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsUnexpectedServerError(err)
}

const (
	worthList = 4
	// worthAll is the minimum number of namespaces for which one list of the whole cluster replaces
	// a list for each namespace.
	worthAll = 8
)

// batches returns the questions to ask. One list replaces several single reads, unless that list
// has failed before.
func batches(f *Facts, asked map[Question]func() Collector, worth int) []Question {
	lists := map[Question]int{}
	for q := range asked {
		if q.Verb == Get {
			lists[Question{Verb: List, GVK: q.GVK, Namespace: q.Namespace}]++
		}
	}
	namespaces := map[schema.GroupVersionKind]int{}
	for q := range lists {
		namespaces[q.GVK]++
	}
	batch := map[Question]bool{}
	for q := range asked {
		here := Question{Verb: List, GVK: q.GVK, Namespace: q.Namespace}
		everywhere := Question{Verb: List, GVK: q.GVK}
		switch {
		case q.Verb != Get, q.GVK.Group == "" && q.GVK.Kind == "Secret": // Secrets are not read in bulk.
			batch[q] = true
		case namespaces[q.GVK] >= worthAll && !f.has(everywhere):
			batch[everywhere] = true
		case lists[here] >= worth && !f.has(here):
			batch[here] = true
		default:
			batch[q] = true
		}
	}
	questions := make([]Question, 0, len(batch))
	for q := range batch {
		questions = append(questions, q)
	}
	slices.SortFunc(questions, Question.compare)
	return questions
}

// Reader reads the cluster. The error of a failed read is evidence too. A forbidden error
// (apierrors) means that the requested fact is unknown. If the server does not serve the kind,
// [meta.IsNoMatchError] is true for the error. A Reader must be safe for concurrent use.
type Reader interface {
	// Get returns one object; nil, nil if it does not exist.
	Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
	// Exists reports whether an object exists, without reading its contents.
	Exists(ctx context.Context, ref object.Ref) (bool, error)
	// Select calls visit for each selected object, never concurrently. fields is a field selector
	// in kubectl's notation.
	Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error
	// Metadata reads only metadata.
	Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error)
	// Kinds returns the served kinds that can be listed, each at one version. It omits those of an
	// aggregated API whose server does not answer.
	Kinds(ctx context.Context) ([]object.Kind, error)
	// DryRunRemoveFinalizer tries to remove a finalizer in a dry run. The error is the server's
	// refusal.
	DryRunRemoveFinalizer(ctx context.Context, ref object.Ref, live *unstructured.Unstructured, finalizer string) error
	// Allowed reports whether user may use verb on ref. An empty user means the current user.
	Allowed(ctx context.Context, user, verb string, ref object.Ref) (bool, error)
}

// ExclusiveMode returns the claim's access mode that allows only one node or one Pod, or "".
func ExclusiveMode(claim *corev1.PersistentVolumeClaim) corev1.PersistentVolumeAccessMode {
	for _, mode := range claim.Spec.AccessModes {
		if mode != corev1.ReadWriteOnce && mode != corev1.ReadWriteOncePod {
			return ""
		}
	}
	if len(claim.Spec.AccessModes) == 0 {
		return ""
	}
	return claim.Spec.AccessModes[0]
}
