package diagnose

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Question is a request for a fact about the cluster.
type Question struct {
	Verb            Verb
	GVK             schema.GroupVersionKind
	Namespace, Name string
	Labels, Fields  string
	// Kept names the filter, if only a part of a list is kept.
	Kept string
	// Detail is the finalizer if Verb is Replay. If Verb is Allowed, Detail is the verb that User
	// would use.
	Detail, User string
}

// Verb is the kind of request.
type Verb string

// Kinds is the first verb. Requests are made in this order: a verb comes before the verbs whose
// questions depend on its answers.
const (
	Kinds    Verb = "kinds"
	Get      Verb = "get"
	Exists   Verb = "exists" // get, but not the contents
	List     Verb = "list"
	Metadata Verb = "metadata" // list, but not the contents
	Allowed  Verb = "allowed"
	Replay   Verb = "replay"
)

// Answer is the cluster's answer to a question, or the error (Err).
type Answer struct {
	Object  *unstructured.Unstructured // for Get; nil if it does not exist
	Objects []*unstructured.Unstructured
	// More counts the objects that a Collector left out.
	More  int
	Kinds []object.Kind
	Yes   bool
	Err   error

	// given is set if the object was passed to NewFacts.
	given bool
	at    time.Time
}

// Collector keeps the relevant objects of a list, which may contain many more.
type Collector interface {
	Add(u *unstructured.Unstructured)
	// Collected returns the objects that were kept, and the number of relevant objects that were
	// not.
	Collected() (kept []*unstructured.Unstructured, more int)
}

// Matching returns a constructor for Collectors. They keep the objects that pass the filter
// (intended), reduced by [Slim].
func Matching(intended func(*unstructured.Unstructured) bool) func() Collector {
	return func() Collector { return &matching{intended: intended} }
}

type matching struct {
	intended func(*unstructured.Unstructured) bool
	kept     []*unstructured.Unstructured
}

func (m *matching) Add(u *unstructured.Unstructured) {
	if m.intended(u) {
		m.kept = append(m.kept, Slim(u))
	}
}

func (m *matching) Collected() ([]*unstructured.Unstructured, int) { return m.kept, 0 }

// Slim removes an object's managed fields and last-applied configuration.
func Slim(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetManagedFields(nil)
	if annotations := u.GetAnnotations(); annotations != nil {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		u.SetAnnotations(annotations)
	}
	return u
}

// String returns the question in kubectl's words: "list leases.coordination.k8s.io -n prod".
func (q Question) String() string {
	message := string(q.Verb)
	switch q.Verb {
	case Metadata:
		message = "list"
	case Exists:
		message = "get"
	case Kinds:
		return "discover what the server serves"
	case Replay:
		message = "update"
	default:
	}
	message += " " + strings.TrimSuffix(object.Ref{GVK: q.GVK, Name: q.Name}.Resource(), "/")
	if q.Namespace != "" {
		message += " -n " + q.Namespace
	}
	return text.Excerpt(message)
}

// compare puts a question after those on which it may depend.
func (q Question) compare(other Question) int {
	return cmp.Or(
		cmp.Compare(q.Verb.order(), other.Verb.order()),
		cmp.Compare(q.GVK.String(), other.GVK.String()),
		cmp.Compare(q.Namespace, other.Namespace),
		cmp.Compare(q.Name, other.Name),
		cmp.Compare(q.User, other.User),
		cmp.Compare(q.Detail, other.Detail),
		cmp.Compare(q.Labels, other.Labels),
		cmp.Compare(q.Fields, other.Fields),
		cmp.Compare(q.Kept, other.Kept),
	)
}

func (v Verb) order() int {
	return slices.Index([]Verb{Kinds, Get, Exists, List, Metadata, Allowed, Replay}, v)
}

func questionOf(ref object.Ref) Question {
	return Question{Verb: Get, GVK: ref.GVK, Namespace: ref.Namespace, Name: ref.Name}
}
