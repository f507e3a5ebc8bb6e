// Package rollouts reconstructs the revisions of a Deployment, StatefulSet or DaemonSet from the
// ReplicaSets or ControllerRevisions that its controller keeps, and finds out what changed in each,
// why, and who changed it. Start with [Of]. The package is pure.
package rollouts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// KeptIn returns the kind of the objects that keep the revisions of a kind, and false if the kind
// has no revisions.
func KeptIn(kind schema.GroupKind) (schema.GroupVersionKind, bool) {
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return apps.WithKind("ReplicaSet"), true
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return apps.WithKind("ControllerRevision"), true
	}
	return schema.GroupVersionKind{}, false
}

// Annotations and labels of the deployment controller
// (k8s.io/kubernetes/pkg/controller/deployment/util) and of kubectl.
const (
	revisionAnnotation    = "deployment.kubernetes.io/revision"
	earlierAnnotation     = "deployment.kubernetes.io/revision-history"
	changeCauseAnnotation = "kubernetes.io/change-cause"
	restartedAnnotation   = "kubectl.kubernetes.io/restartedAt"
	hashLabel             = "pod-template-hash"
)

// Recorded is what the webhook recorded about a workload. The zero value is valid.
type Recorded struct {
	Transitions []event.Transition
	// Rollouts are the writes of the template, with the latest last.
	Rollouts []event.Rollout
}

// Of returns the revisions of a workload, with the newest first, and the transitions that are not
// part of a revision. kept contains ReplicaSets or ControllerRevisions; those of other objects are
// ignored. An error means that managed fields cannot be decoded.
func Of(workload *unstructured.Unstructured, kept []*unstructured.Unstructured, recorded Recorded) ([]event.Revision, []event.Transition, error) {
	entries, err := managedfields.Entries(workload)
	if err != nil {
		return nil, nil, err
	}
	all := statesOf(workload, kept)
	w := &witness{entries: entries, recorded: recorded.Transitions, used: make([]bool, len(recorded.Transitions))}
	out := make([]event.Revision, len(all))
	for i := range all {
		out[i] = all[i].revision
		if i > 0 {
			compared(&out[i], all[i-1], all[i])
		}
	}
	w.join(out, all, recorded.Rollouts)
	sent(out, all, recorded.Rollouts, workload.GetUID())
	w.absorb(out)
	for i := range out {
		if i > 0 {
			w.attribute(out[i].Changes, all[i-1], all[i:])
		}
		out[i].Reason = reasonOf(out[i], all[i].again, w)
	}
	slices.Reverse(out)
	return out, w.unused(), nil
}

// state is a template at one revision. A ReplicaSet that became the newest one again has several.
type state struct {
	revision event.Revision
	template map[string]any
	// latest is the latest possible time of the revision; zero if unknown.
	latest time.Time
	// again means that the controller reused an object that it had kept, and timed that the revision's
	// time is that of this use.
	again, timed bool
}

func statesOf(workload *unstructured.Unstructured, kept []*unstructured.Unstructured) []state {
	var all []state
	for _, u := range kept {
		if owner := metav1.GetControllerOf(u); owner != nil && owner.UID == workload.GetUID() {
			all = append(all, statesIn(workload, u)...)
		}
	}
	slices.SortStableFunc(all, func(a, b state) int { return cmp.Compare(a.revision.Number, b.revision.Number) })
	newest := time.Time{}
	for i := range all {
		s := &all[i]
		// A ControllerRevision that is used again is older than the one before it.
		if s.revision.Time.Before(newest) {
			s.again, s.timed = true, false
		}
		if s.again && !s.timed {
			s.revision.Time, s.revision.After = time.Time{}, newest
			if at := slices.IndexFunc(all[:i], func(o state) bool { return o.revision.Kept == s.revision.Kept }); at >= 0 {
				s.revision.Of = latestOf(all[at:i], s.revision.Kept)
			}
			continue
		}
		newest = s.revision.Time
	}
	live := templateOf(workload)
	if last := len(all) - 1; last >= 0 && fieldpath.Equal(all[last].template, live) {
		all[last].revision.Live = true
		return all
	}
	return append(all, state{revision: event.Revision{Live: true, After: newest}, template: live})
}

func latestOf(all []state, kept object.Ref) (number int64) {
	for _, s := range all {
		if s.revision.Kept == kept {
			number = s.revision.Number
		}
	}
	return number
}

// statesIn returns the revisions that an object keeps: one, or several for a ReplicaSet that was
// used again.
func statesIn(workload, u *unstructured.Unstructured) []state {
	s := state{template: templateOf(u), latest: lastWritten(u)}
	s.revision = event.Revision{
		Kept: object.RefOf(u), Time: u.GetCreationTimestamp().UTC(), ChangeCause: u.GetAnnotations()[changeCauseAnnotation],
	}
	if u.GetKind() == "ControllerRevision" {
		s.revision.Number, _, _ = unstructured.NestedInt64(u.Object, "revision")
		if at := renumbered(workload, u); !at.IsZero() {
			s.revision.Time, s.latest, s.again, s.timed = at, at, true, true
		}
		return []state{s}
	}
	var out []state
	numbers := append(strings.Split(u.GetAnnotations()[earlierAnnotation], ","), u.GetAnnotations()[revisionAnnotation])
	for _, text := range numbers {
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || number <= 0 {
			continue
		}
		s.revision.Number, s.again = number, len(out) > 0
		out = append(out, s)
	}
	for i := range out[:max(len(out)-1, 0)] { // The annotation is that of the last use.
		out[i].revision.ChangeCause = ""
	}
	return out
}

// renumbered returns when the controller used a ControllerRevision again; zero if it did not, as far as
// known. Such a ControllerRevision gets a new number, and its old one is not kept
// (k8s.io/kubernetes/pkg/controller/history), but the controller writes it for no other reason, except to
// adopt it for a new workload.
func renumbered(workload, u *unstructured.Unstructured) time.Time {
	created := u.GetCreationTimestamp().UTC()
	entries, err := managedfields.Entries(u)
	if err != nil || workload.GetCreationTimestamp().After(created) {
		return time.Time{}
	}
	for _, e := range entries {
		if fieldpath.Has(e.Fields, fieldpath.Field("revision")) && e.Time.After(created) {
			return e.Time.UTC()
		}
	}
	return time.Time{}
}

// lastWritten returns when the controller last wrote an object, except its status.
func lastWritten(u *unstructured.Unstructured) (at time.Time) {
	for _, e := range u.GetManagedFields() {
		if e.Subresource == "" && e.Time != nil && e.Time.After(at) {
			at = e.Time.UTC()
		}
	}
	return at
}

// templateOf returns the Pod template of a workload, a ReplicaSet or a ControllerRevision, without
// the parts that the controllers add.
func templateOf(u *unstructured.Unstructured) map[string]any {
	within := u.Object
	if u.GetKind() == "ControllerRevision" {
		within, _, _ = unstructured.NestedMap(u.Object, "data")
	}
	template, _, _ := unstructured.NestedMap(within, "spec", "template") // a copy
	delete(template, "$patch")
	if u.GetKind() == "ReplicaSet" {
		if labels, ok, _ := unstructured.NestedMap(template, "metadata", "labels"); ok {
			delete(labels, hashLabel)
			_ = unstructured.SetNestedMap(template, labels, "metadata", "labels")
		}
	}
	return template
}

func compared(r *event.Revision, before, after state) {
	r.Since = before.revision.Number
	for _, c := range compare(fieldpath.Field("spec", "template"), before.template, after.template) {
		r.Changes = append(r.Changes, event.RevisionChange{Change: c})
	}
}

// reasonOf prefers the narrowest reason that explains all changes of the revision. The first revision that is
// kept may have had a predecessor, so its reason is unknown unless it is the first of all.
func reasonOf(r event.Revision, again bool, w *witness) event.RollReason {
	restarted := fieldpath.Field("spec", "template", "metadata", "annotations", restartedAnnotation)
	switch {
	case r.Since == 0 && r.Number <= 1:
		return event.RollCreated
	case r.Since == 0:
		return event.RollUnknown
	case again:
		return event.RollUndo
	case len(r.Changes) > 0 && every(r.Changes, func(c event.RevisionChange) bool { return restarts(c, restarted) }):
		return event.RollRestart
	case len(r.Changes) > 0 && every(r.Changes, func(c event.RevisionChange) bool { return isImage(c.Path) }):
		if every(r.Changes, func(c event.RevisionChange) bool { return c.Writer != nil && w.ownsOnlyImages(*c.Writer) }) {
			return event.RollImagePolicy
		}
		return event.RollImages
	}
	return event.RollTemplate
}

// restarts reports whether a change is that of kubectl rollout restart. The first one may add the
// annotations as a whole.
func restarts(c event.RevisionChange, restarted fieldpath.Path) bool {
	if c.Path.Equal(restarted) {
		return c.Kind != managedfields.Removed
	}
	value, _ := c.To.(map[string]any)
	_, has := value[restartedAnnotation]
	return c.Path.Equal(restarted[:len(restarted)-1]) && !fieldpath.IsFilled(c.From) && len(value) == 1 && has
}

func isImage(p fieldpath.Path) bool {
	if len(p) < 3 || p[len(p)-1].FieldName == nil || *p[len(p)-1].FieldName != "image" || p[len(p)-3].FieldName == nil {
		return false
	}
	list := *p[len(p)-3].FieldName
	return list == "containers" || list == "initContainers"
}

func every[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(t T) bool { return !is(t) })
}
