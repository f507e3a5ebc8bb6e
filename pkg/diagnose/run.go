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

// Run is one pass of the rules over the known facts. It records the unanswered questions. Once
// these are answered, the rules run again.
type Run struct {
	Now   time.Time
	Facts *Facts

	// misses counts the questions that have no answer yet, including repeated ones.
	asked  map[Question]func() Collector
	misses int
	// unanswered maps failed questions to their errors, and order contains these questions in the
	// order in which they were asked. excused contains the failed questions that a cause already
	// explains.
	unanswered map[Question]error
	order      []Question
	excused    map[Question]bool
	made       map[string]any
}

// NewRun returns a run over facts, which may be nil.
func NewRun(now time.Time, facts *Facts) *Run {
	if facts == nil {
		facts = NewFacts()
	}
	return &Run{
		Now: now, Facts: facts, asked: map[Question]func() Collector{},
		unanswered: map[Question]error{}, excused: map[Question]bool{}, made: map[string]any{},
	}
}

// Once calls the callback (read) only once per run for each name.
func Once[T any](r *Run, name string, read func() T) T {
	if made, ok := r.made[name].(T); ok {
		return made
	}
	made := read()
	r.made[name] = made
	return made
}

// Ask returns the answer to a question. It returns false if the question has not been asked yet, or
// if its read failed.
func (r *Run) Ask(q Question) (Answer, bool) { return r.Collect(q, nil) }

// Collect is like [Run.Ask], but the collector keeps only a part of the list. [Question.Kept] names
// the collector's filter.
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

// IsAsked reports whether a rule has asked the question.
func (r *Run) IsAsked(q Question) bool {
	if _, ok := r.Facts.Find(q); ok {
		return true
	}
	_, ok := r.asked[q]
	return ok
}

// Misses returns how often a question had no answer yet.
func (r *Run) Misses() int { return r.misses }

// Unanswered returns the failed questions in the order in which they were asked.
func (r *Run) Unanswered() iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		for _, q := range r.order {
			if err, ok := r.unanswered[q]; ok && !yield(q, err) {
				return
			}
		}
	}
}

// Excuse marks a failed question that a cause already explains.
func (r *Run) Excuse(q Question) {
	r.excused[q] = true
	delete(r.unanswered, q)
}

// Get returns an object, or nil. If sure is set, nil means that it does not exist.
func (r *Run) Get(gvk schema.GroupVersionKind, namespace, name string) (u *unstructured.Unstructured, sure bool) {
	a, ok := r.Ask(Question{Verb: Get, GVK: gvk, Namespace: namespace, Name: name})
	return a.Object, ok
}

// Exists reports whether an object exists; the result is valid only if sure is set.
func (r *Run) Exists(ref object.Ref) (exists, sure bool) {
	a, ok := r.Ask(Question{Verb: Exists, GVK: ref.GVK, Namespace: ref.Namespace, Name: ref.Name})
	return a.Yes, ok
}

// List returns all objects of a kind. An empty namespace means all namespaces. If sure is not set,
// the list could not be read, or has not been read yet.
func (r *Run) List(gvk schema.GroupVersionKind, namespace string) (objects []*unstructured.Unstructured, sure bool) {
	a, ok := r.Ask(Question{Verb: List, GVK: gvk, Namespace: namespace})
	return a.Objects, ok
}

// Metadata is like [Run.List], but returns only the metadata of the objects.
func (r *Run) Metadata(gvk schema.GroupVersionKind, namespace string) (objects []*unstructured.Unstructured, sure bool) {
	a, ok := r.Ask(Question{Verb: Metadata, GVK: gvk, Namespace: namespace})
	return a.Objects, ok
}

// Kinds returns the kinds that the server serves; false if they are not known.
func (r *Run) Kinds() ([]object.Kind, bool) {
	a, ok := r.Ask(Question{Verb: Kinds})
	return a.Kinds, ok
}

// Kind returns the object's kind as the server describes it.
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

// Allowed reports whether a user is allowed to do something; the result is valid only if sure is
// set.
func (r *Run) Allowed(user, verb string, ref object.Ref) (yes, sure bool) {
	a, ok := r.Ask(Question{Verb: Allowed, GVK: ref.GVK, Namespace: ref.Namespace, Name: ref.Name, User: user, Detail: verb})
	return a.Yes, ok
}

// Whole returns the complete form of an object that has only metadata, or nil if it is not known.
func (r *Run) Whole(u *unstructured.Unstructured) *unstructured.Unstructured {
	live, _ := r.Get(u.GroupVersionKind(), u.GetNamespace(), u.GetName())
	return live
}

type result[T any] struct {
	items []T
	sure  bool
}

// Facts contains questions with their answers. It is safe for concurrent use.
type Facts struct {
	mu      sync.RWMutex
	answers map[Question]Answer
	typed   map[typedKey]any
}

type typedKey struct {
	object *unstructured.Unstructured
	typed  reflect.Type
}

// NewFacts returns facts that contain the objects.
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

// Find returns the answer to a question. If only a wider question was asked, Find returns the part
// of its answer that answers q.
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

// Forget drops the answers for which the callback (old) returns true, and all errors except
// refusals. It keeps the objects passed to [NewFacts].
func (f *Facts) Forget(old func(q Question, at time.Time) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.typed) // It refers to dropped objects.
	for q, a := range f.answers {
		if !a.given && (a.Err != nil && !apierrors.IsForbidden(a.Err) || old(q, a.at)) {
			delete(f.answers, q)
		}
	}
}

// Typed is like [As], but converts an object in the facts only once. Callers must not change the
// result.
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

// Since returns the questions that were answered at or after a time, in order.
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

// widen returns the questions whose answers contain the answer to q.
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

func (f *Facts) has(q Question) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, ok := f.answers[q]
	return ok
}

func (f *Facts) object(ref object.Ref) *unstructured.Unstructured {
	if a, _ := f.Find(questionOf(ref)); a.Object != nil {
		return a.Object
	}
	a, _ := f.Find(Question{Verb: Metadata, GVK: ref.GVK, Namespace: ref.Namespace})
	return named(a.Objects, ref.Namespace, ref.Name)
}

// AnswersElse reports whether the server has answered a question, other than a replay, about an API
// group that is not in groups.
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

// allTroubled reports whether all questions failed because of the server as a whole. It ignores
// replays, because a refused replay says nothing about reads.
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

// Lasting determines whether a cause ends a wait, and when.
type Lasting struct {
	// Ends is set if the cause stays until someone changes something.
	Ends bool
	// After sets how long the cause must last before it ends a wait. If Ends is not set, the cause
	// ends a wait only if the user named it.
	After time.Duration
}
