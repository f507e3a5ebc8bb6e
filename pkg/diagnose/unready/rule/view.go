// Package rule contains what the rules of package unready share. It never reads the cluster itself.
// A [View] answers the rules' questions, and [Causes] merges their [Finding] values. Start with
// [New].
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

// View answers the rules' questions about one object.
type View struct {
	*diagnose.Run
	// Object is the object that is not ready.
	Object *unstructured.Unstructured
	Pods   []*corev1.Pod
	lists  map[diagnose.Question]Pods
	// More counts the unready Pods that were not kept.
	More int
	// detailed contains the Pods whose references are read.
	detailed map[types.NamespacedName]bool
	// OnlyKnown is set while no new questions may be asked.
	OnlyKnown bool
	// events holds the warnings by namespace and object, newest first.
	events map[string]map[types.UID][]*corev1.Event
	// about holds the objects whose warnings are needed, by namespace. Warnings are read last.
	about map[string]map[types.UID]bool
}

// New returns a view of an object.
func New(r *diagnose.Run, u *unstructured.Unstructured) *View {
	return &View{
		Run: r, Object: u, lists: map[diagnose.Question]Pods{},
		detailed: map[types.NamespacedName]bool{{Namespace: u.GetNamespace(), Name: u.GetName()}: true},
		events:   map[string]map[types.UID][]*corev1.Event{},
		about: diagnose.Once(r, "objects with requested warnings", func() map[string]map[types.UID]bool {
			return map[string]map[types.UID]bool{}
		}),
	}
}

// Find returns an object; nil if it does not exist or is unknown.
func (v *View) Find(r object.Ref) *unstructured.Unstructured {
	u, _ := v.Read(r)
	return u
}

// Read returns an object, or nil. If sure is set, nil means that it does not exist.
func (v *View) Read(r object.Ref) (u *unstructured.Unstructured, sure bool) {
	if r.Name == "" {
		return nil, false
	}
	a, sure := v.lookUp(diagnose.Question{Verb: diagnose.Get, GVK: r.GVK, Namespace: r.Namespace, Name: r.Name})
	return a.Object, sure
}

// Lookup returns an object as a struct; nil if it does not exist or is unknown.
func Lookup[T any](v *View, r object.Ref) *T {
	t, ok := As[T](v, v.Find(r))
	if !ok {
		return nil
	}
	return t
}

// Absent reports whether the object certainly does not exist. It reads no contents.
func (v *View) Absent(r object.Ref) bool {
	if r.Name == "" {
		return false
	}
	a, sure := v.lookUp(diagnose.Question{Verb: diagnose.Exists, GVK: r.GVK, Namespace: r.Namespace, Name: r.Name})
	return sure && !a.Yes
}

// There reports whether the object certainly exists. It reads no contents.
func (v *View) There(r object.Ref) bool {
	a, sure := v.lookUp(diagnose.Question{Verb: diagnose.Exists, GVK: r.GVK, Namespace: r.Namespace, Name: r.Name})
	return sure && a.Yes
}

func (v *View) lookUp(q diagnose.Question) (diagnose.Answer, bool) {
	if v.OnlyKnown {
		return v.Known(q)
	}
	return v.Ask(q)
}

// Known returns the answer to a question that has been asked before.
func (v *View) Known(q diagnose.Question) (diagnose.Answer, bool) {
	if _, asked := v.Facts.Find(q); !asked {
		return diagnose.Answer{}, false
	}
	return v.Ask(q)
}

// OnlyKnownUnless sets OnlyKnown if asked is false. The function that it returns restores the
// previous value.
func (v *View) OnlyKnownUnless(asked bool) func() {
	before := v.OnlyKnown
	v.OnlyKnown = before || !asked
	return func() { v.OnlyKnown = before }
}

// Select returns the objects of a kind that pass the filter (intended). The question's Kept field
// names this filter.
func (v *View) Select(q diagnose.Question, intended func(*unstructured.Unstructured) bool) (objects []*unstructured.Unstructured, sure bool) {
	q.Verb = diagnose.List
	if v.OnlyKnown {
		a, sure := v.Known(q)
		return a.Objects, sure
	}
	a, sure := v.Collect(q, diagnose.Matching(intended))
	return a.Objects, sure
}

// As converts an object to a type. It returns false if the object cannot be converted. All rules
// share the result and must not change it.
func As[T any](v *View, u *unstructured.Unstructured) (*T, bool) {
	return diagnose.Typed[T](v.Facts, u)
}

// Since returns the time since t, such as " for 3m". It returns "" if t or the current time is
// unknown, or if t is in the future.
func (v *View) Since(t metav1.Time) string {
	if v.Now.IsZero() || t.IsZero() || t.After(v.Now) {
		return ""
	}
	return " for " + duration.HumanDuration(v.Now.Sub(t.Time))
}

// Kubectl returns a kubectl command, quoted where necessary. The verb is the first word, or the
// first two words if the first is a command group, such as rollout.
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

// Distinct returns the non-empty strings, each once, in order.
func Distinct(texts []string) []string {
	return text.Distinct(slices.DeleteFunc(slices.Clone(texts), func(message string) bool { return message == "" }))
}

// Name returns an object's name for messages, in kubectl's notation.
func Name(r object.Ref) string { return r.String() }

// Line returns a condition as evidence.
func Line(c object.Condition) string {
	message := "condition " + text.Excerpt(c.Type) + "=" + text.Excerpt(c.Status)
	if c.Reason != "" {
		message += " (" + text.Excerpt(c.Reason) + ")"
	}
	if c.Message != "" {
		message += ": " + text.Excerpt(c.Message)
	}
	return message
}
