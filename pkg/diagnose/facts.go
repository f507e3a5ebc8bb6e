package diagnose

import (
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Facts holds questions and their answers. It can serve the explanations of many objects:
// what holds up two hundred of them is read once. It is safe for concurrent use.
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

// Find answers a question, if need be from the answer to a wider one. It is false if
// neither was asked.
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

// Forget drops the answers that old reports as too old, and errors that may pass, so that
// they are asked for again. Old gets the time of each answer; it is not called for answers
// that were given.
func (f *Facts) Forget(old func(q Question, at time.Time) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.typed) // It would keep the objects that go.
	for q, a := range f.answers {
		if !a.given && (a.Err != nil && !apierrors.IsForbidden(a.Err) || old(q, a.at)) {
			delete(f.answers, q)
		}
	}
}

// Typed is [As] for an object among the facts. It converts the object once, although the
// rules run again and again; so nothing may change what it returns.
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

// widen returns a question, followed by wider ones whose answers contain its own.
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

// has reports whether this very question was asked, even without an answer.
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

// AnswersElse reports whether the server answered any question that is not about these
// groups.
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

// allTroubled reports whether the server failed at every one of the questions. A
// refused update says nothing about reading.
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
