package unready

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// view is the facts, arranged for rules to look things up.
type view struct {
	Facts
	pods    []*corev1.Pod
	events  map[types.UID][]*corev1.Event // newest first
	present map[object.Key]bool           // false: absent
	told    map[object.Key]bool           // looked at by a rule already
}

func newView(facts Facts) *view {
	v := &view{Facts: facts, events: map[types.UID][]*corev1.Event{}, present: map[object.Key]bool{}, told: map[object.Key]bool{}}
	for _, ref := range facts.Absent {
		v.present[ref.Key()] = false
	}
	for _, ref := range facts.Present {
		v.present[ref.Key()] = true
	}
	for _, u := range append([]*unstructured.Unstructured{facts.Object}, facts.Others...) {
		v.present[object.RefOf(u).Key()] = true
		switch u.GroupVersionKind().GroupKind() {
		case core("Pod").GroupKind():
			if pod, ok := as[corev1.Pod](u); ok {
				v.pods = append(v.pods, pod)
			}
		case core("Event").GroupKind():
			if e, ok := as[corev1.Event](u); ok {
				v.events[e.InvolvedObject.UID] = append(v.events[e.InvolvedObject.UID], e)
			}
		}
	}
	for _, events := range v.events {
		slices.SortStableFunc(events, func(a, b *corev1.Event) int { return lastSeen(b).Compare(lastSeen(a)) })
	}
	return v
}

// as reads an object as the struct of its kind. What does not fit is as good as
// absent: some other API has taken the name.
func as[T any](u *unstructured.Unstructured) (*T, bool) {
	into := new(T)
	return into, convert(u, into) == nil
}

func convert(u *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
}

// find returns an object of the facts, or nil.
func (v *view) find(ref object.Ref) *unstructured.Unstructured {
	for _, u := range v.Others {
		if object.RefOf(u).Key() == ref.Key() {
			return u
		}
	}
	if object.RefOf(v.Object).Key() == ref.Key() {
		return v.Object
	}
	return nil
}

// all returns the objects of a kind among the others.
func (v *view) all(gk schema.GroupKind) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, u := range v.Others {
		if u.GroupVersionKind().GroupKind() == gk {
			out = append(out, u)
		}
	}
	return out
}

// lookup returns the struct of an object of the facts, or nil.
func lookup[T any](v *view, ref object.Ref) *T {
	u := v.find(ref)
	if u == nil {
		return nil
	}
	t, ok := as[T](u)
	if !ok {
		return nil
	}
	return t
}

// absent tells whether it is known that the object is not there.
func (v *view) absent(ref object.Ref) bool {
	there, known := v.present[ref.Key()]
	return known && !there
}

// podsOf returns the Pods that an object controls.
func (v *view) podsOf(owner types.UID) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range v.pods {
		if controller := metav1.GetControllerOfNoCopy(pod); controller != nil && controller.UID == owner {
			out = append(out, pod)
		}
	}
	return out
}

// warning returns the newest event about an object with one of the reasons, or nil.
func (v *view) warning(uid types.UID, reasons ...string) *corev1.Event {
	for _, e := range v.events[uid] {
		if slices.Contains(reasons, e.Reason) {
			return e
		}
	}
	return nil
}

// warningAbout is warning for events whose message begins in one of several ways.
func (v *view) warningAbout(uid types.UID, reason string, fits func(*corev1.Event) bool) *corev1.Event {
	for _, e := range v.events[uid] {
		if e.Reason == reason && fits(e) {
			return e
		}
	}
	return nil
}

// quoted is an event as evidence; nothing for nil.
func quoted(e *corev1.Event) []string {
	if e == nil {
		return nil
	}
	return []string{"event " + clean(e.Reason) + ": " + clean(e.Message)}
}

// lastSeen is when an event was told last. Old and new ways to record events keep
// it in different fields.
func lastSeen(e *corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	if e.EventTime.After(at) {
		at = e.EventTime.Time
	}
	return at
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
