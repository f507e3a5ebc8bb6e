// Package rule has the shared parts of the rules of unready. A [View] answers their questions:
// objects, the Pods below them and their warnings. A [Finding] is what they report, and [Causes]
// merges findings of the same cause.
package rule

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// View answers the questions of the rules about one object.
type View struct {
	*diagnose.Run
	// Object is the object that is not ready.
	Object *unstructured.Unstructured
	// Pods are those read so far, in order; lists are their lists.
	Pods  []*corev1.Pod
	lists map[diagnose.Question]Pods
	// More is how many unready Pods were left out.
	More int
	// detailed are the Pods whose references are read. For others, only known objects are looked
	// up.
	detailed map[types.NamespacedName]bool
	// OnlyKnown: ask nothing more, and use only what is known.
	OnlyKnown bool
	// events are the warnings that were read, by namespace, the newest first.
	events map[string]map[types.UID][]*corev1.Event
	// about are the objects whose warnings the rules use, by namespace. Warnings are read last, for
	// all objects of a run.
	about map[string]map[types.UID]bool
}

// New returns the view of an object.
func New(r *diagnose.Run, u *unstructured.Unstructured) *View {
	return &View{
		Run: r, Object: u, lists: map[diagnose.Question]Pods{},
		detailed: map[types.NamespacedName]bool{{Namespace: u.GetNamespace(), Name: u.GetName()}: true},
		events:   map[string]map[types.UID][]*corev1.Event{},
		about: diagnose.Once(r, "whose warnings are asked for", func() map[string]map[types.UID]bool {
			return map[string]map[types.UID]bool{}
		}),
	}
}

// Find returns an object; nil if it does not exist, or is unknown.
func (v *View) Find(r object.Ref) *unstructured.Unstructured {
	u, _ := v.Read(r)
	return u
}

// Read reads an object; nil if it was not found. sure then says whether it certainly does not
// exist.
func (v *View) Read(r object.Ref) (u *unstructured.Unstructured, sure bool) {
	if r.Name == "" {
		return nil, false
	}
	a, sure := v.lookUp(diagnose.Question{Verb: diagnose.Get, GVK: r.GVK, Namespace: r.Namespace, Name: r.Name})
	return a.Object, sure
}

// Lookup returns the struct of an object, or nil.
func Lookup[T any](v *View, r object.Ref) *T {
	t, ok := As[T](v, v.Find(r))
	if !ok {
		return nil
	}
	return t
}

// Absent reports whether the object certainly does not exist. It does not read its contents.
func (v *View) Absent(r object.Ref) bool {
	if r.Name == "" {
		return false
	}
	a, sure := v.lookUp(diagnose.Question{Verb: diagnose.Exists, GVK: r.GVK, Namespace: r.Namespace, Name: r.Name})
	return sure && !a.Yes
}

// There reports whether the object certainly exists. It does not read its contents.
func (v *View) There(r object.Ref) bool {
	a, sure := v.lookUp(diagnose.Question{Verb: diagnose.Exists, GVK: r.GVK, Namespace: r.Namespace, Name: r.Name})
	return sure && a.Yes
}

// lookUp asks a question, or only looks it up if OnlyKnown is set.
func (v *View) lookUp(q diagnose.Question) (diagnose.Answer, bool) {
	if v.OnlyKnown {
		return v.Known(q)
	}
	return v.Ask(q)
}

// Known answers a question if it was asked.
func (v *View) Known(q diagnose.Question) (diagnose.Answer, bool) {
	if _, asked := v.Facts.Find(q); !asked {
		return diagnose.Answer{}, false
	}
	return v.Ask(q)
}

// OnlyKnownUnless sets OnlyKnown unless asked is true. It returns a function that restores the
// previous setting.
func (v *View) OnlyKnownUnless(asked bool) func() {
	before := v.OnlyKnown
	v.OnlyKnown = before || !asked
	return func() { v.OnlyKnown = before }
}

// Select returns the objects of a kind for which meant is true, sorted by name. The question's Kept
// names that choice.
func (v *View) Select(q diagnose.Question, meant func(*unstructured.Unstructured) bool) (objects []*unstructured.Unstructured, sure bool) {
	q.Verb = diagnose.List
	if v.OnlyKnown {
		a, sure := v.Known(q)
		return a.Objects, sure
	}
	a, sure := v.Collect(q, diagnose.Matching(meant))
	return a.Objects, sure
}

// As returns an object as the struct of its kind, which all rules share and must not change. An
// object that does not fit counts as absent: another API has taken the name.
func As[T any](v *View, u *unstructured.Unstructured) (*T, bool) {
	return diagnose.Typed[T](v.Facts, u)
}

// Since returns "for 3m" if both times are known, and "" otherwise.
func (v *View) Since(t metav1.Time) string {
	if v.Now.IsZero() || t.IsZero() || t.After(v.Now) {
		return ""
	}
	return " for " + duration.HumanDuration(v.Now.Sub(t.Time))
}

// Kubectl returns a command, with its words quoted for a shell where necessary. The verb
// is the first word, or the first two if the first groups verbs.
func Kubectl(namespace string, words ...string) string {
	verb := 1
	if slices.Contains([]string{"auth", "rollout", "create", "k8sconnect"}, words[0]) {
		verb = 2
	}
	if namespace != "" {
		words = append(words, "-n", namespace)
	}
	line := []string{command.Kubectl(words[:verb]...)}
	for _, word := range words[verb:] {
		line = append(line, text.ShellQuote(word))
	}
	return strings.Join(line, " ")
}

// Get returns the command that shows the object.
func Get(ref object.Ref) string {
	return Kubectl(ref.Namespace, "get", ref.Resource(), "-o", "yaml")
}

// Describe returns the command that shows the object with its events.
func Describe(ref object.Ref) string {
	return Kubectl(ref.Namespace, "describe", ref.Resource())
}

// Stated returns the texts that are not empty, each once, in their order.
func Stated(texts []string) []string {
	return text.Distinct(slices.DeleteFunc(slices.Clone(texts), func(said string) bool { return said == "" }))
}

// Name returns an object's name for messages, in kubectl's notation.
func Name(r object.Ref) string { return r.String() }

// Line returns a condition as evidence.
func Line(c object.Condition) string {
	said := "condition " + text.Excerpt(c.Type) + "=" + text.Excerpt(c.Status)
	if c.Reason != "" {
		said += " (" + text.Excerpt(c.Reason) + ")"
	}
	if c.Message != "" {
		said += ": " + text.Excerpt(c.Message)
	}
	return said
}
