package stuck

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// question is one thing that can be asked of a cluster.
type question struct {
	verb            verb
	gvk             schema.GroupVersionKind
	namespace, name string
	labels          string // of a list
	// detail is the finalizer to replay the removal of, or the user and what he would
	// do.
	detail, user string
}

type verb string

const (
	get      verb = "get"
	list     verb = "list"
	metadata verb = "metadata" // a list of nothing else
	kinds    verb = "kinds"
	replay   verb = "replay"
	allowed  verb = "allowed"
)

// answer is what the cluster said. A question that was not answered has an err.
type answer struct {
	object  *unstructured.Unstructured // of get; nil for absent
	objects []*unstructured.Unstructured
	kinds   []object.Kind
	yes     bool
	err     error
	// given: nobody asked for it.
	given bool
}

// errNotAsked stands for what nobody asked because enough was asked already.
var errNotAsked = errors.New("not looked at, for enough was read already")

// known is what was asked and answered. Many objects can be explained from it:
// what holds up two hundred of them is read once.
type known struct {
	mu      sync.RWMutex
	answers map[question]answer
}

func newKnown() *known { return &known{answers: map[question]answer{}} }

func (k *known) put(q question, a answer) {
	if meta.IsNoMatchError(a.err) { // There are none of a kind that is not served.
		a = answer{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answers[q] = a
}

// find answers a question, from a wider one where that was answered.
func (k *known) find(q question) (answer, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, wider := range widen(q) {
		a, ok := k.answers[wider]
		switch {
		case !ok, wider != q && a.err != nil:
			continue
		case q.verb == get && wider.verb == list:
			return answer{object: named(a.objects, q.namespace, q.name)}, true
		case q.namespace != wider.namespace:
			return answer{objects: within(a.objects, q.namespace)}, true
		default:
			return a, true
		}
	}
	return answer{}, false
}

// widen returns a question and those whose answer holds its answer.
func widen(q question) []question {
	here := question{verb: list, gvk: q.gvk, namespace: q.namespace}
	all := question{verb: list, gvk: q.gvk}
	if q.labels != "" || q.verb == metadata && q.name != "" {
		return []question{q}
	}
	switch q.verb {
	case get, list:
		return []question{q, here, all}
	case metadata:
		return []question{q, {verb: metadata, gvk: q.gvk, namespace: q.namespace}, {verb: metadata, gvk: q.gvk}, here, all}
	default:
		return []question{q}
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

// object returns an object, however it was read; nil where it was not.
func (k *known) object(ref object.Ref) *unstructured.Unstructured {
	for _, verb := range []verb{get, metadata} {
		q := question{verb: verb, gvk: ref.GVK, namespace: ref.Namespace}
		if verb == get {
			q.name = ref.Name
		}
		a, _ := k.find(q)
		if a.object != nil {
			return a.object
		}
		if u := named(a.objects, ref.Namespace, ref.Name); u != nil {
			return u
		}
	}
	return nil
}

// answersElse reports whether the server answered anything but what is about these
// groups.
func (k *known) answersElse(groups map[string]bool) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for q, a := range k.answers {
		if a.err == nil && !a.given && q.verb != replay && !groups[q.gvk.Group] {
			return true
		}
	}
	return false
}

// allTroubled tells whether the server failed at every one of the questions.
func (k *known) allTroubled(questions []question) bool {
	for _, q := range questions {
		if a, ok := k.find(q); !ok || !troubled(a.err) {
			return false
		}
	}
	return true
}
