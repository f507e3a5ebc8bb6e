package diagnose

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Run is one run of the rules over the known facts. A question whose answer is not known
// yet is noted, and the rules run again once it is. So the rules decide what is read.
type Run struct {
	// Now is the time of the run.
	Now   time.Time
	Facts *Facts

	// asked holds the questions without a known answer; misses counts how often they were
	// asked.
	asked  map[Question]func() Collector
	misses int
	// unanswered are the questions without an answer, order has them as they were asked,
	// and excused are those that a cause accounts for.
	unanswered map[Question]error
	order      []Question
	excused    map[Question]bool
	// made caches what was computed from lists that many objects need.
	made map[string]any
}

// NewRun returns a run over facts. With nil facts, nothing is known.
func NewRun(now time.Time, facts *Facts) *Run {
	if facts == nil {
		facts = NewFacts()
	}
	return &Run{
		Now: now, Facts: facts, asked: map[Question]func() Collector{},
		unanswered: map[Question]error{}, excused: map[Question]bool{}, made: map[string]any{},
	}
}

// Once computes the value that is called what from the facts, once in a run.
func Once[T any](r *Run, what string, read func() T) T {
	if made, ok := r.made[what].(T); ok {
		return made
	}
	made := read()
	r.made[what] = made
	return made
}

// Ask answers a question if the answer is known. It is false if there is no answer yet, or
// none at all.
func (r *Run) Ask(q Question) (Answer, bool) { return r.Collect(q, nil) }

// Collect is [Run.Ask] for a list of which only a part is kept. [Question.Kept]
// distinguishes such questions.
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

// IsAsked reports whether a question was asked before: it is answered, or will be.
func (r *Run) IsAsked(q Question) bool {
	if _, ok := r.Facts.Find(q); ok {
		return true
	}
	_, ok := r.asked[q]
	return ok
}

// Misses returns how often a question without a known answer was asked.
func (r *Run) Misses() int { return r.misses }

// Unanswered returns the questions that got no answer, and why, in the order in which
// they were asked.
func (r *Run) Unanswered() iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		for _, q := range r.order {
			if err, ok := r.unanswered[q]; ok && !yield(q, err) {
				return
			}
		}
	}
}

// Excuse says that a cause accounts for a question without an answer.
func (r *Run) Excuse(q Question) {
	r.excused[q] = true
	delete(r.unanswered, q)
}

// Get reads one object. It is nil if the object was not found; sure then says whether it
// is known not to exist.
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

// Metadata is [Run.List] for the objects' metadata alone.
func (r *Run) Metadata(gvk schema.GroupVersionKind, namespace string) (objects []*unstructured.Unstructured, sure bool) {
	a, ok := r.Ask(Question{Verb: Metadata, GVK: gvk, Namespace: namespace})
	return a.Objects, ok
}

// Kinds are the kinds that the server serves.
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

// result is computed from lists; sure is set if all of them were read.
type result[T any] struct {
	items []T
	sure  bool
}
