package unready

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// view is one run of the rules over what is known.
type view struct {
	*diagnose.Run
	// object is what does not get ready.
	object *unstructured.Unstructured
	// told are objects that a rule has looked at.
	told map[object.Key]bool
	// pods were read so far, in order; lists are those that they are from.
	pods  []*corev1.Pod
	lists map[diagnose.Question]podList
	// more is how many Pods that are not ready were left out.
	more int
	// detailed are Pods whose references are read. For the others, and while onlyKnown,
	// they are only looked up.
	detailed  map[types.NamespacedName]bool
	onlyKnown bool
	// events are the warnings that were read, by namespace, the newest first.
	events map[string]map[types.UID][]*corev1.Event
	// askedLast is what is asked last, for all objects that are explained in one run.
	*askedLast
}

// askedLast is what rules want to know of what is read by one list for many objects.
type askedLast struct {
	// about are the objects whose warnings rules look for, by namespace.
	about map[string]map[types.UID]bool
	// exclusive are claims that Pods wait for and that one node or Pod can have, by
	// namespace; volumes are theirs.
	exclusive map[string][]string
	volumes   []string
}

func newView(r *diagnose.Run, u *unstructured.Unstructured) *view {
	return &view{
		Run: r, object: u, told: map[object.Key]bool{}, lists: map[diagnose.Question]podList{},
		detailed: map[types.NamespacedName]bool{{Namespace: u.GetNamespace(), Name: u.GetName()}: true},
		events:   map[string]map[types.UID][]*corev1.Event{},
		askedLast: diagnose.Once(r, "what is asked last", func() *askedLast {
			return &askedLast{about: map[string]map[types.UID]bool{}, exclusive: map[string][]string{}}
		}),
	}
}

// find returns an object; nil where it is not there, or not known.
func (v *view) find(r object.Ref) *unstructured.Unstructured {
	u, _ := v.read(r)
	return u
}

// read reads an object. It is nil where there is none; then sure says that it is known.
func (v *view) read(r object.Ref) (u *unstructured.Unstructured, sure bool) {
	if r.Name == "" {
		return nil, false
	}
	a, sure := v.look(diagnose.Question{Verb: diagnose.Get, GVK: r.GVK, Namespace: r.Namespace, Name: r.Name})
	return a.Object, sure
}

// lookup returns the struct of an object, or nil.
func lookup[T any](v *view, r object.Ref) *T {
	t, ok := as[T](v.find(r))
	if !ok {
		return nil
	}
	return t
}

// absent reports whether it is known that the object is not there. Nothing of it is
// read.
func (v *view) absent(r object.Ref) bool {
	if r.Name == "" {
		return false
	}
	a, sure := v.look(diagnose.Question{Verb: diagnose.Exists, GVK: r.GVK, Namespace: r.Namespace, Name: r.Name})
	return sure && !a.Yes
}

// there reports whether it is known that the object is there. Nothing of it is read.
func (v *view) there(r object.Ref) bool {
	a, sure := v.look(diagnose.Question{Verb: diagnose.Exists, GVK: r.GVK, Namespace: r.Namespace, Name: r.Name})
	return sure && a.Yes
}

// look asks, or only looks up.
func (v *view) look(q diagnose.Question) (diagnose.Answer, bool) {
	if v.onlyKnown {
		return v.known(q)
	}
	return v.Ask(q)
}

// known answers a question if it was asked.
func (v *view) known(q diagnose.Question) (diagnose.Answer, bool) {
	if _, asked := v.Facts.Find(q); !asked {
		return diagnose.Answer{}, false
	}
	return v.Ask(q)
}

// onlyKnownUnless says whether questions are asked from here on, and returns what ends
// that.
func (v *view) onlyKnownUnless(asked bool) func() {
	before := v.onlyKnown
	v.onlyKnown = before || !asked
	return func() { v.onlyKnown = before }
}

// list returns the objects of a kind that are meant, sorted by name. meant is called
// what kept says.
func (v *view) list(q diagnose.Question, meant func(*unstructured.Unstructured) bool) (objects []*unstructured.Unstructured, sure bool) {
	q.Verb = diagnose.List
	if v.onlyKnown {
		a, sure := v.known(q)
		return a.Objects, sure
	}
	a, sure := v.Collect(q, diagnose.Matching(meant))
	return a.Objects, sure
}

// as reads an object as the struct of its kind. What does not fit is as good as
// absent: some other API has taken the name.
func as[T any](u *unstructured.Unstructured) (*T, bool) {
	t, ok := diagnose.As[T](u)
	return &t, ok
}

// since returns "for 3m" where both times are known.
func (v *view) since(t metav1.Time) string {
	if v.Now.IsZero() || t.IsZero() || t.After(v.Now) {
		return ""
	}
	return " for " + duration.HumanDuration(v.Now.Sub(t.Time))
}

// ref names an object of a kind.
func ref(gvk schema.GroupVersionKind, namespace, name string) object.Ref {
	return object.Ref{GVK: gvk, Namespace: namespace, Name: name}
}

// The kinds that rules know, at the versions that every supported server serves.

func core(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

func apps(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}

func batch(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: kind}
}

func storage(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: kind}
}

func networking(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: kind}
}

func admission(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind}
}

func endpointSlice() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
}

func priorityClass() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}
}

func definition() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
}

func apiService() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
}

func autoscaler() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
}

// podList is what was made of a list of Pods.
type podList struct {
	pods []*corev1.Pod
	// more that are not ready were left out.
	more int
	sure bool
}
