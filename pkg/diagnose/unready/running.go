package unready

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/pod"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// MostRunning limits how many workloads [Running] examines.
const MostRunning = 10

// HasPods reports whether an object is a workload whose Pods keep running.
func HasPods(ref object.Ref) bool {
	return slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, ref.GVK.Kind) && ref.GVK == diagnose.KindOf("apps/v1", ref.GVK.Kind)
}

// Running returns the images that the Pods of the workloads run, as reported by their nodes. It
// sends two requests for each of the first [MostRunning] workloads, and omits unknown images.
func Running(ctx context.Context, reader diagnose.Reader, refs []object.Ref) []event.Runs {
	refs = refs[:min(len(refs), MostRunning)]
	facts := diagnose.NewFacts()
	var found []event.Runs
	rules := func(r *diagnose.Run) {
		found = nil
		for _, ref := range refs {
			if images := running(r, ref); len(images) > 0 {
				found = append(found, event.Runs{Ref: ref, Images: images})
			}
		}
	}
	g := diagnose.Gatherer{Reader: reader, Budget: 2 * MostRunning, WorthList: MostRunning + 1}
	if g.Fill(ctx, facts, rules) != nil {
		return nil
	}
	rules(diagnose.NewRun(time.Time{}, facts))
	return found
}

func running(r *diagnose.Run, ref object.Ref) []event.Image {
	u, _ := r.Get(ref.GVK, ref.Namespace, ref.Name)
	workload, ok := diagnose.As[struct {
		Spec struct {
			Selector *metav1.LabelSelector  `json:"selector"`
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}](u)
	selector, err := metav1.LabelSelectorAsSelector(workload.Spec.Selector)
	if !ok || err != nil || workload.Spec.Selector == nil {
		return nil
	}
	listed, _ := r.Collect(diagnose.Question{
		Verb: diagnose.List, GVK: diagnose.KindOf("v1", "Pod"), Namespace: ref.Namespace, Labels: selector.String(), Kept: "what runs",
	}, diagnose.Matching(func(*unstructured.Unstructured) bool { return true }))
	pods := diagnose.All[corev1.Pod](listed.Objects)
	var images []event.Image
	for _, c := range workload.Spec.Template.Spec.Containers {
		images = append(images, runningAs(c, pods)...)
	}
	return images
}

func runningAs(c corev1.Container, pods []corev1.Pod) []event.Image {
	var images []event.Image
	for _, p := range pods {
		for _, b := range pod.ContainersOf(&p, p.Spec.Containers, p.Status.ContainerStatuses, "container") {
			id := b.Status.ImageID
			if b.Spec.Name != c.Name || b.Spec.Image != c.Image || id == "" || b.Status.State.Running == nil || p.DeletionTimestamp != nil {
				continue
			}
			i := slices.IndexFunc(images, func(image event.Image) bool { return same(image.ID) == same(id) })
			if i < 0 {
				i, images = len(images), append(images, event.Image{Container: c.Name, Image: c.Image, ID: id, Pulls: pod.Pulls(&p, c.Name)})
			}
			images[i].Pods = append(images[i].Pods, event.RunningPod{Name: p.Name, Node: p.Spec.NodeName, Since: b.Status.State.Running.StartedAt.UTC()})
		}
	}
	slices.SortStableFunc(images, func(a, b event.Image) int {
		return cmp.Or(len(b.Pods)-len(a.Pods), cmp.Compare(same(a.ID), same(b.ID)))
	})
	return images
}

// same returns the part of an image ID to compare: the digest, if there is one.
func same(id string) string { return cmp.Or(pod.Digest(id), id) }

// DifferingImages returns a remark about Pods of the same template that run different images, if
// there are any.
func DifferingImages(runs event.Runs) (event.Remarked, bool) {
	for i, image := range runs.Images {
		if i == 0 || runs.Images[i-1].Container != image.Container || pod.Digest(image.ID) == "" || pod.Digest(runs.Images[i-1].ID) == "" {
			continue
		}
		before := runs.Images[i-1]
		odd := image.Pods[0]
		r := event.Remarked{
			Ref: runs.Ref, Code: "ImageDiffers", Path: fmt.Sprintf(".spec.template.spec.containers[name=%q].image", image.Container),
			Text: fmt.Sprintf("nodes run different images under the same name %s: Pod %s on node %s has %s, Pod %s on node %s has %s",
				text.Excerpt(image.Image), before.Pods[0].Name, before.Pods[0].Node, pod.Short(pod.Digest(before.ID)), odd.Name, odd.Node, pod.Short(pod.Digest(image.ID))),
			Hint: "give each image its own tag or use its digest (name@sha256:…): a node that has an image of that name does not pull it again",
		}
		if image.Pulls {
			r.Hint = "restart the older Pods: " + rule.Kubectl(runs.Ref.Namespace, "rollout", "restart", runs.Ref.Resource())
		}
		return r, true
	}
	return event.Remarked{}, false
}

// unread names something that could not be read: an object, or a kind in a namespace or in the
// whole cluster.
type unread struct {
	ref object.Ref
	err error
}

// unread reports that causes may be missing because something could not be read (edge case 67).
func (v *rules) unread() []rule.Finding {
	var forbidden, failed []unread
	for _, u := range v.unreadRefs() {
		if apierrors.IsForbidden(u.err) {
			forbidden = append(forbidden, u)
		} else {
			failed = append(failed, u)
		}
	}
	var found []rule.Finding
	if len(forbidden) > 0 {
		first, verb := forbidden[0].ref, "list"
		if first.Name != "" {
			verb = "get"
		}
		found = append(found, rule.Finding{Rank: rule.Doubt, Cause: event.Cause{
			Code:     "NotAllowed",
			Doubt:    true,
			Message:  "you are not allowed to read these, so their state is unknown: " + text.List(whats(forbidden), 5),
			Evidence: errorLines(forbidden),
			Next:     rule.Kubectl(first.Namespace, "auth", "can-i", verb, resourceOf(first)),
		}})
	}
	if len(failed) > 0 {
		found = append(found, rule.Finding{Rank: rule.Doubt, Cause: event.Cause{
			Code:     "Unreadable",
			Doubt:    true,
			Message:  "these could not be read, so their state is unknown: " + text.List(whats(failed), 5),
			Evidence: errorLines(failed),
		}})
	}
	return found
}

// declared quotes the object's status. It is used if no cause was found and some objects could not be
// read.
func declared(u *unstructured.Unstructured) []rule.Finding {
	r := object.RefOf(u)
	var message []readiness.Statement
	for _, s := range readiness.Read(u.Object) {
		if !s.Old && s.Meaning >= readiness.NotYet {
			message = append(message, s)
		}
	}
	if len(message) == 0 {
		return nil
	}
	slices.SortStableFunc(message, func(a, b readiness.Statement) int { return int(b.Meaning) - int(a.Meaning) })
	c := event.Cause{Code: "StatusSays", Message: rule.Name(r) + ": its status says: " + text.Excerpt(message[0].String()), Next: rule.Describe(r)}
	for _, s := range message[:min(len(message), 5)] {
		c.Evidence = append(c.Evidence, evidence(s))
	}
	return []rule.Finding{{Rank: rule.Direct, Cause: c}}
}

func (v *rules) unreadRefs() []unread {
	var all []unread
	for q, err := range v.Unanswered() {
		r := object.Ref{GVK: q.GVK, Namespace: q.Namespace}
		if q.Verb == diagnose.Get || q.Verb == diagnose.Exists {
			r.Name = q.Name
		}
		if !slices.ContainsFunc(all, func(u unread) bool { return u.ref == r }) {
			all = append(all, unread{r, err})
		}
	}
	return all
}

// If a kind's cluster-wide list failed, whats names the kind only once.
func whats(all []unread) []string {
	everywhere := map[schema.GroupKind]bool{}
	for _, u := range all {
		if u.ref.Namespace == "" && u.ref.Name == "" {
			everywhere[u.ref.GVK.GroupKind()] = true
		}
	}
	var out []string
	for _, u := range all {
		if !everywhere[u.ref.GVK.GroupKind()] || u.ref.Namespace == "" && u.ref.Name == "" {
			out = append(out, what(u.ref))
		}
	}
	slices.Sort(out)
	return out
}

func errorLines(all []unread) []string {
	var out []string
	for _, u := range all {
		out = append(out, text.Excerpt(u.err.Error()))
	}
	slices.Sort(out)
	return out[:min(len(out), 5)]
}

func what(r object.Ref) string {
	plural, _ := meta.UnsafeGuessKindToResource(r.GVK)
	switch {
	case r.Name != "":
		return rule.Name(r)
	case r.Namespace != "":
		return plural.Resource + " in " + r.Namespace
	default:
		return plural.Resource
	}
}

func resourceOf(r object.Ref) string {
	plural, _ := meta.UnsafeGuessKindToResource(r.GVK)
	text := plural.Resource
	if r.GVK.Group != "" {
		text += "." + r.GVK.Group
	}
	if r.Name != "" {
		text += "/" + r.Name
	}
	return text
}
