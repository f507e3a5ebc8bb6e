package unready

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/pod"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// MostRunning is the number of workloads whose images [Running] returns.
const MostRunning = 10

// HasPods reports whether an object of the kind is a workload whose Pods stay.
func HasPods(ref object.Ref) bool {
	return slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, ref.GVK.Kind) && ref.GVK == rule.Apps(ref.GVK.Kind)
}

// Running returns which images the Pods of workloads run, as their nodes report it. It
// sends two requests for each of the first [MostRunning] workloads, and leaves out what is
// not known.
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

// running returns the images that a workload's Pods run, container by container, those
// that most of them run first.
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
		Verb: diagnose.List, GVK: rule.Core("Pod"), Namespace: ref.Namespace, Labels: selector.String(), Kept: "what runs",
	}, diagnose.Matching(func(*unstructured.Unstructured) bool { return true }))
	pods := diagnose.All[corev1.Pod](listed.Objects)
	var images []event.Image
	for _, c := range workload.Spec.Template.Spec.Containers {
		images = append(images, runningAs(c, pods)...)
	}
	return images
}

// runningAs returns what those Pods run whose spec has the container's image.
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
			images[i].Pods = append(images[i].Pods, event.RunningPod{Name: p.Name, Node: p.Spec.NodeName, Since: b.Status.State.Running.StartedAt.Time})
		}
	}
	slices.SortStableFunc(images, func(a, b event.Image) int {
		return cmp.Or(len(b.Pods)-len(a.Pods), cmp.Compare(same(a.ID), same(b.ID)))
	})
	return images
}

// same returns what two IDs of one image have in common: the registry's digest, if it is
// known.
func same(id string) string { return cmp.Or(pod.Digest(id), id) }

// DifferingImages returns a remark about Pods of one template that do not run the same
// image although all of them are ready; false if there are none.
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
			Hint: "give each image a tag of its own, or name it by its digest (name@sha256:…); a node that has an image of that name does not pull it again",
		}
		if image.Pulls {
			r.Hint = "restart the older ones: " + rule.Kubectl(runs.Ref.Namespace, "rollout", "restart", runs.Ref.Resource())
		}
		return r, true
	}
	return event.Remarked{}, false
}
