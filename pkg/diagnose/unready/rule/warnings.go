package rule

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const keepEvents = 500

// Warnings returns the warnings about an object, newest first. Events are listed after all other
// objects, once for each namespace.
func (v *View) Warnings(u metav1.Object) []*corev1.Event {
	namespace := u.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault // has the events of cluster-scoped objects
	}
	if v.about[namespace] == nil {
		v.about[namespace] = map[types.UID]bool{}
	}
	v.about[namespace][u.GetUID()] = true
	if v.events[namespace] == nil {
		a, ok := v.Known(warningsIn(namespace))
		if !ok {
			return nil
		}
		v.events[namespace] = v.byObject(a.Objects)
	}
	return v.events[namespace][u.GetUID()]
}

func warningsIn(namespace string) diagnose.Question {
	return diagnose.Question{Verb: diagnose.List, GVK: diagnose.KindOf("v1", "Event"), Namespace: namespace, Fields: "type!=Normal", Kept: "newest"}
}

func (v *View) byObject(objects []*unstructured.Unstructured) map[types.UID][]*corev1.Event {
	events := map[types.UID][]*corev1.Event{}
	for _, u := range objects {
		if e, ok := As[corev1.Event](v, u); ok {
			events[e.InvolvedObject.UID] = append(events[e.InvolvedObject.UID], e)
		}
	}
	for _, about := range events {
		slices.SortStableFunc(about, func(a, b *corev1.Event) int { return LastSeen(b).Compare(LastSeen(a)) })
	}
	return events
}

// NeedNoWarnings records that the warnings about an object are not needed.
func (v *View) NeedNoWarnings(u metav1.Object) {
	namespace := cmp.Or(u.GetNamespace(), metav1.NamespaceDefault)
	delete(v.about[namespace], u.GetUID())
}

// AskWarnings reads the warnings about all objects for which Warnings was called.
func (v *View) AskWarnings() {
	for namespace, about := range v.about {
		if len(about) == 0 {
			continue
		}
		v.Collect(warningsIn(namespace), func() diagnose.Collector { return &newest{about: about, kept: map[warningKind]warning{}} })
	}
}

type newest struct {
	about map[types.UID]bool
	kept  map[warningKind]warning
	order []warningKind
}

type warningKind struct {
	uid                types.UID
	reason, path, word string
}

type warning struct {
	seen   time.Time
	object *unstructured.Unstructured
}

func (n *newest) Add(u *unstructured.Unstructured) {
	uid := diagnose.Text(u, "involvedObject", "uid")
	if uid == "" || !n.about[types.UID(uid)] { // Most warnings are about other objects.
		return
	}
	e, ok := diagnose.As[corev1.Event](u)
	if !ok {
		return
	}
	word, _, _ := strings.Cut(e.Message, " ") // The first word names the probe.
	kind := warningKind{e.InvolvedObject.UID, e.Reason, e.InvolvedObject.FieldPath, word}
	last, known := n.kept[kind]
	switch {
	case !known && len(n.kept) < keepEvents:
		n.order = append(n.order, kind)
	case !known, !LastSeen(&e).After(last.seen):
		return
	}
	n.kept[kind] = warning{LastSeen(&e), diagnose.Slim(u)}
}

func (n *newest) Collected() (kept []*unstructured.Unstructured, more int) {
	for _, kind := range n.order {
		kept = append(kept, n.kept[kind].object)
	}
	return kept, 0
}

// Warning returns an object's newest warning that has one of the reasons, or nil. A warning that only
// says that a Pod waits is returned if no other has one of the reasons.
func (v *View) Warning(u metav1.Object, reasons ...string) *corev1.Event {
	var waits *corev1.Event
	for _, e := range v.Warnings(u) {
		switch {
		case !slices.Contains(reasons, e.Reason) || v.overcome(e):
		case !strings.HasPrefix(e.Message, waitsForVolumes):
			return e
		case waits == nil:
			waits = e
		}
	}
	return waits
}

// waitsForVolumes begins the kubelet's warning that a Pod still waits for its volumes. The kubelet
// repeats it after each warning that names the volume and its error.
const waitsForVolumes = "Unable to attach or mount volumes: "

// missed matches the object that an event did not find, in the words of the API server and the
// kubelet.
var missed = regexp.MustCompile(`\b(configmap|secret|persistentvolumeclaim|storageclass\.storage\.k8s\.io) "([^"]+)" not found`)

// overcome reports whether an event misses an object that exists now. Such an event is older than
// the object, so it is not believed: its controller will try again.
func (v *View) overcome(e *corev1.Event) bool {
	m := missed.FindStringSubmatch(e.Message)
	if m == nil {
		return false
	}
	kind := map[string]string{"configmap": "ConfigMap", "secret": "Secret", "persistentvolumeclaim": "PersistentVolumeClaim"}[m[1]]
	if kind == "" {
		return v.There(diagnose.RefOf("storage.k8s.io/v1", "StorageClass", "", m[2]))
	}
	return v.There(diagnose.RefOf("v1", kind, e.InvolvedObject.Namespace, m[2]))
}

// WarningAbout returns an object's newest warning that has the reason and passes the filter (fits),
// or nil.
func (v *View) WarningAbout(u metav1.Object, reason string, fits func(*corev1.Event) bool) *corev1.Event {
	for _, e := range v.Warnings(u) {
		if e.Reason == reason && fits(e) {
			return e
		}
	}
	return nil
}

// Quoted returns an event as evidence, or nil if the event is nil.
func Quoted(e *corev1.Event) []string {
	if e == nil {
		return nil
	}
	return []string{"event " + text.Excerpt(e.Reason) + ": " + text.Excerpt(e.Message)}
}

// LastSeen returns the time at which an event was last recorded. The old and new events APIs use
// different fields.
func LastSeen(e *corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	if e.EventTime.After(at) {
		at = e.EventTime.Time
	}
	return at
}
