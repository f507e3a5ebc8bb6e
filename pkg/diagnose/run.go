package diagnose

import (
	"iter"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Run is one run of the rules over the known facts. A question without an answer is noted, and the
// rules run again once it has one. So the rules decide what is read.
type Run struct {
	// Now is the time of the run.
	Now   time.Time
	Facts *Facts

	// asked holds the questions without an answer; misses counts how often they were asked.
	asked  map[Question]func() Collector
	misses int
	// unanswered are the failed questions, order has them in the order in which they were asked,
	// and excused are those that a cause accounts for.
	unanswered map[Question]error
	order      []Question
	excused    map[Question]bool
	// made caches results from lists that many objects need.
	made map[string]any
}

// NewRun returns a run over facts; nil means that nothing is known.
func NewRun(now time.Time, facts *Facts) *Run {
	if facts == nil {
		facts = NewFacts()
	}
	return &Run{
		Now: now, Facts: facts, asked: map[Question]func() Collector{},
		unanswered: map[Question]error{}, excused: map[Question]bool{}, made: map[string]any{},
	}
}

// Once computes a named value from the facts, once a run.
func Once[T any](r *Run, what string, read func() T) T {
	if made, ok := r.made[what].(T); ok {
		return made
	}
	made := read()
	r.made[what] = made
	return made
}

// Ask answers a question. It is false if there is no answer yet, or none at all.
func (r *Run) Ask(q Question) (Answer, bool) { return r.Collect(q, nil) }

// Collect is [Run.Ask] for a list of which only a part is kept. [Question.Kept] distinguishes such
// questions.
func (r *Run) Collect(q Question, collector func() Collector) (Answer, bool) {
	a, ok := r.Facts.Find(q)
	if !ok {
		r.asked[q] = collector
		r.misses++
		return a, false
	}
	if a.Err != nil {
		if _, noted := r.unanswered[q]; !noted && !r.excused[q] {
			r.unanswered[q] = a.Err
			r.order = append(r.order, q)
		}
		return a, false
	}
	return a, true
}

// IsAsked reports whether a question was asked before.
func (r *Run) IsAsked(q Question) bool {
	if _, ok := r.Facts.Find(q); ok {
		return true
	}
	_, ok := r.asked[q]
	return ok
}

// Misses returns how often a question without an answer was asked.
func (r *Run) Misses() int { return r.misses }

// Unanswered returns the failed questions and their errors, in the order in which they were asked.
func (r *Run) Unanswered() iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		for _, q := range r.order {
			if err, ok := r.unanswered[q]; ok && !yield(q, err) {
				return
			}
		}
	}
}

// Excuse marks an unanswered question that a cause accounts for.
func (r *Run) Excuse(q Question) {
	r.excused[q] = true
	delete(r.unanswered, q)
}

// Get reads one object; nil if it was not found. sure then says whether it certainly does not
// exist.
func (r *Run) Get(gvk schema.GroupVersionKind, namespace, name string) (u *unstructured.Unstructured, sure bool) {
	a, ok := r.Ask(Question{Verb: Get, GVK: gvk, Namespace: namespace, Name: name})
	return a.Object, ok
}

// Exists reports whether an object exists, and whether that is sure.
func (r *Run) Exists(ref object.Ref) (there, sure bool) {
	a, ok := r.Ask(Question{Verb: Exists, GVK: ref.GVK, Namespace: ref.Namespace, Name: ref.Name})
	return a.Yes, ok
}

// List reads all objects of a kind. An empty namespace means all namespaces.
func (r *Run) List(gvk schema.GroupVersionKind, namespace string) (objects []*unstructured.Unstructured, sure bool) {
	a, ok := r.Ask(Question{Verb: List, GVK: gvk, Namespace: namespace})
	return a.Objects, ok
}

// Metadata is [Run.List] for metadata alone.
func (r *Run) Metadata(gvk schema.GroupVersionKind, namespace string) (objects []*unstructured.Unstructured, sure bool) {
	a, ok := r.Ask(Question{Verb: Metadata, GVK: gvk, Namespace: namespace})
	return a.Objects, ok
}

// Kinds returns the served kinds.
func (r *Run) Kinds() ([]object.Kind, bool) {
	a, ok := r.Ask(Question{Verb: Kinds})
	return a.Kinds, ok
}

// Kind returns what the server says about the object's kind.
func (r *Run) Kind(u *unstructured.Unstructured) (object.Kind, bool) {
	kinds, _ := r.Kinds()
	gvk := u.GroupVersionKind()
	for _, kind := range kinds {
		if kind.GVK.GroupKind() == gvk.GroupKind() {
			kind.GVK = gvk
			return kind, true
		}
	}
	return object.Kind{}, false
}

// Allowed reports whether a user may do something. Sure is false if we may not ask.
func (r *Run) Allowed(user, verb string, ref object.Ref) (yes, sure bool) {
	a, ok := r.Ask(Question{Verb: Allowed, GVK: ref.GVK, Namespace: ref.Namespace, Name: ref.Name, User: user, Detail: verb})
	return a.Yes, ok
}

// Whole returns the object with its spec and status.
func (r *Run) Whole(u *unstructured.Unstructured) *unstructured.Unstructured {
	live, _ := r.Get(u.GroupVersionKind(), u.GetNamespace(), u.GetName())
	return live
}

// result is computed from lists; sure: all of them were read.
type result[T any] struct {
	items []T
	sure  bool
}

// Facts holds questions and their answers, also for many objects: what blocks two hundred of them
// is read once. It is safe for concurrent use.
type Facts struct {
	mu      sync.RWMutex
	answers map[Question]Answer
	typed   map[typedKey]any
}

// typedKey is an object with the type to which it was converted.
type typedKey struct {
	object *unstructured.Unstructured
	typed  reflect.Type
}

// NewFacts returns facts that already contain the objects.
func NewFacts(known ...*unstructured.Unstructured) *Facts {
	f := &Facts{answers: map[Question]Answer{}, typed: map[typedKey]any{}}
	for _, u := range known {
		f.answers[questionOf(object.RefOf(u))] = Answer{Object: u, given: true}
	}
	return f
}

func (f *Facts) put(q Question, a Answer) {
	if meta.IsNoMatchError(a.Err) { // A kind that is not served has no objects.
		a = Answer{at: a.at}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[q] = a
}

// Find answers a question, if need be from the answer to a wider one. It is false if neither was
// asked.
func (f *Facts) Find(q Question) (Answer, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, wider := range widen(q) {
		a, ok := f.answers[wider]
		switch {
		case !ok, wider != q && a.Err != nil:
			continue
		case q.Verb == Get && wider.Verb == List:
			return Answer{Object: named(a.Objects, q.Namespace, q.Name)}, true
		case q.Verb == Exists && wider.Verb == Get:
			return Answer{Yes: a.Object != nil}, true
		case q.Namespace != wider.Namespace:
			return Answer{Objects: within(a.Objects, q.Namespace)}, true
		default:
			return a, true
		}
	}
	return Answer{}, false
}

// Forget drops answers for which old returns true, and errors that may pass, so that they are asked
// for again. It does not call old for answers that were given.
func (f *Facts) Forget(old func(q Question, at time.Time) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.typed) // It would keep dropped objects.
	for q, a := range f.answers {
		if !a.given && (a.Err != nil && !apierrors.IsForbidden(a.Err) || old(q, a.at)) {
			delete(f.answers, q)
		}
	}
}

// Typed is [As] for an object among the facts. It converts the object once, so the result must not
// be changed.
func Typed[T any](f *Facts, u *unstructured.Unstructured) (*T, bool) {
	key := typedKey{u, reflect.TypeFor[T]()}
	f.mu.RLock()
	made, known := f.typed[key]
	f.mu.RUnlock()
	if known {
		t, ok := made.(*T)
		return t, ok
	}
	t, ok := As[T](u)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !ok {
		f.typed[key] = nil
		return nil, false
	}
	f.typed[key] = &t
	return &t, true
}

// Since returns what was asked since a time, in order.
func (f *Facts) Since(at time.Time) []Question {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var asked []Question
	for q, a := range f.answers {
		if !a.given && !a.at.Before(at) {
			asked = append(asked, q)
		}
	}
	slices.SortFunc(asked, Question.compare)
	return asked
}

// widen returns a question, then wider ones whose answers contain its own.
func widen(q Question) []Question {
	here := Question{Verb: List, GVK: q.GVK, Namespace: q.Namespace}
	all := Question{Verb: List, GVK: q.GVK}
	if q.Labels != "" || q.Fields != "" || q.Kept != "" || q.Verb == Metadata && q.Name != "" {
		return []Question{q}
	}
	switch q.Verb {
	case Exists:
		return []Question{q, {Verb: Get, GVK: q.GVK, Namespace: q.Namespace, Name: q.Name}}
	case Get, List:
		return []Question{q, here, all}
	case Metadata:
		return []Question{q, {Verb: Metadata, GVK: q.GVK, Namespace: q.Namespace}, {Verb: Metadata, GVK: q.GVK}, here, all}
	default:
		return []Question{q}
	}
}

func named(objects []*unstructured.Unstructured, namespace, name string) *unstructured.Unstructured {
	for _, u := range objects {
		if u.GetName() == name && u.GetNamespace() == namespace {
			return u
		}
	}
	return nil
}

func within(objects []*unstructured.Unstructured, namespace string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, u := range objects {
		if u.GetNamespace() == namespace {
			out = append(out, u)
		}
	}
	return out
}

// has reports whether this question was asked, even without an answer.
func (f *Facts) has(q Question) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, ok := f.answers[q]
	return ok
}

// object returns an object, however it was read; nil if it was not.
func (f *Facts) object(ref object.Ref) *unstructured.Unstructured {
	if a, _ := f.Find(questionOf(ref)); a.Object != nil {
		return a.Object
	}
	a, _ := f.Find(Question{Verb: Metadata, GVK: ref.GVK, Namespace: ref.Namespace})
	return named(a.Objects, ref.Namespace, ref.Name)
}

// AnswersElse reports whether the server answered any question that is not about these groups.
func (f *Facts) AnswersElse(groups map[string]bool) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for q, a := range f.answers {
		if a.Err == nil && !a.given && q.Verb != Replay && !groups[q.GVK.Group] {
			return true
		}
	}
	return false
}

// allTroubled reports whether the server failed at each of the questions. A refused update says
// nothing about reading.
func (f *Facts) allTroubled(questions []Question) bool {
	troubled := false
	for _, q := range questions {
		if q.Verb == Replay {
			continue
		}
		if a, ok := f.Find(q); !ok || !Troubled(a.Err) {
			return false
		}
		troubled = true
	}
	return troubled
}

// Lasting says whether it is worth waiting for a cause to pass.
type Lasting struct {
	// Ends: the cause stays until something is changed, so that a wait may end.
	Ends bool
	// After is how long the cause has to last, while nothing else changes in the object, before a
	// wait ends. For a cause that may pass by itself, it is for users who do not want to wait.
	After time.Duration
}
