package pod

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// The registry's answer is available only as text.
func (v Rules) pulling(b Container, w *corev1.ContainerStateWaiting) rule.Finding {
	image := text.Excerpt(b.Spec.Image)
	message := w.Message
	if e := v.WarningAbout(b.pod, "Failed", func(e *corev1.Event) bool {
		return b.concerns(e) && strings.HasPrefix(e.Message, "Failed to pull image")
	}); e != nil && w.Reason == "ImagePullBackOff" {
		message = e.Message // The status might say only that the kubelet is backing off.
	}
	c := event.Cause{
		Evidence: rule.Distinct([]string{"Pod " + b.pod.Name + ": waiting, " + text.Excerpt(w.Reason), text.Excerpt(message)}),
		Next:     rule.Kubectl(b.pod.Namespace, "describe", "pod", b.pod.Name),
	}
	switch {
	case strings.HasSuffix(w.Reason, "InvalidImageName"):
		c.Code, c.Message = "ImageNameInvalid", b.role+": "+image+" is not a valid image name"
	case w.Reason == "ErrImageNeverPull":
		c.Code, c.Message = "ImageNeverPulled", b.role+": image "+image+" is not on the node, and imagePullPolicy is Never"
	default:
		c.Code = pullFault(b.Spec.Image, message)
		switch c.Code {
		case platformMissing:
			c.Message = b.role + ": image " + image + " exists, but not for the node's platform"
		case notFoundOrDenied:
			c.Code, c.Message = accessDenied, b.role+": image "+image+" does not exist, or the registry denies the node access to it"
			if len(b.pod.Spec.ImagePullSecrets) == 0 {
				c.Evidence = append(c.Evidence, "the Pod has no imagePullSecrets")
			}
		case notFound:
			c.Message = b.role + ": the registry has no image " + image
		case accessDenied:
			c.Message = b.role + ": the registry denies the node access to image " + image
		default:
			c.Message = b.role + ": image " + image + " cannot be pulled"
			if why := innermost(message); why != "" {
				c.Message += ": " + text.Excerpt(why)
			}
		}
	}
	for _, secret := range b.pod.Spec.ImagePullSecrets {
		if !rule.WaitsFor(b.pod, "ErrImagePull", "ImagePullBackOff") {
			break // The image was not pulled, so the Secrets were not needed.
		}
		r := diagnose.RefOf("v1", "Secret", b.pod.Namespace, secret.Name)
		if v.Absent(r) {
			c.Evidence = append(c.Evidence, "imagePullSecrets names Secret "+secret.Name+", which does not exist")
			c.BlockedBy = r
		}
	}
	return rule.Of(b.pod, rule.Direct, c)
}

// Images reports Pods that run different images under one name.
func (v Rules) Images(pods []*corev1.Pod) []rule.Finding {
	type use struct{ container, image string }
	seen := map[use]map[string][]*corev1.Pod{}
	for _, p := range pods {
		for _, b := range ContainersOf(p, p.Spec.Containers, p.Status.ContainerStatuses, "container") {
			id := Digest(b.Status.ImageID)
			if id == "" || p.DeletionTimestamp != nil {
				continue
			}
			u := use{b.Spec.Name, b.Spec.Image}
			if seen[u] == nil {
				seen[u] = map[string][]*corev1.Pod{}
			}
			seen[u][id] = append(seen[u][id], p)
		}
	}
	var found []rule.Finding
	for u, byDigest := range seen {
		asked := Digest(u.image)
		if len(byDigest) < 2 && (asked == "" || byDigest[asked] != nil) {
			continue
		}
		found = append(found, imagesDiffer(u.container, u.image, asked, byDigest))
	}
	slices.SortFunc(found, func(a, b rule.Finding) int { return strings.Compare(a.Message, b.Message) })
	return found
}

func imagesDiffer(container, image, asked string, byDigest map[string][]*corev1.Pod) rule.Finding {
	digests := slices.SortedFunc(maps.Keys(byDigest), func(a, b string) int {
		if n := len(byDigest[b]) - len(byDigest[a]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	c := event.Cause{
		Code:    "ImageDiffers",
		Message: "container " + container + ": nodes run different images under the same name " + text.Excerpt(image),
	}
	if asked != "" {
		c.Message = "container " + container + " does not run the specified image, " + text.Excerpt(image)
	}
	odd := byDigest[digests[len(digests)-1]][0]
	for _, digest := range digests {
		var where []string
		for _, p := range byDigest[digest] {
			where = append(where, p.Name+" on "+p.Spec.NodeName)
		}
		c.Evidence = append(c.Evidence, Short(digest)+": Pod "+text.List(where, 3))
		if digest != asked && asked != "" {
			odd = byDigest[digest][0]
		}
	}
	c.BlockedBy = diagnose.RefOf("v1", "Pod", odd.Namespace, odd.Name)
	if asked != "" || Pulls(odd, container) {
		c.Next = rule.Kubectl(odd.Namespace, "delete", "pod", odd.Name)
		c.Risk = "the Pod is deleted and created again, with whatever image its node then pulls"
	} else {
		// After a restart, the container would use the image on its node.
		c.Evidence = append(c.Evidence, "imagePullPolicy is not Always: a node that has an image of that name does not pull it again, so a new Pod would run the same image. "+
			"Give each image its own tag, use a digest (name@sha256:…), or set imagePullPolicy to Always")
		c.Next = rule.Kubectl(odd.Namespace, "get", "pods", "-o", "custom-columns=POD:.metadata.name,NODE:.spec.nodeName,IMAGE:.status.containerStatuses[*].imageID")
	}
	return rule.Finding{Cause: c, Rank: rule.Consequence} // Faults in Pods come first.
}

// Pulls reports whether the node pulls a container's image at each start.
func Pulls(p *corev1.Pod, container string) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == container && c.ImagePullPolicy == corev1.PullAlways
	})
}

// Digest returns the digest in an image ID, or "" if the container runtime assigned the ID.
func Digest(image string) string {
	_, digest, ok := strings.Cut(image, "@sha256:")
	if !ok {
		return ""
	}
	return "sha256:" + digest
}

// Short abbreviates a digest.
func Short(digest string) string {
	return text.Excerpt(digest[:min(len(digest), len("sha256:")+12)])
}
