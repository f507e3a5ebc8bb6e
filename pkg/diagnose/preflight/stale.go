package preflight

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Kept is an object that did not change, with an image that may be outdated: its tag is
// meant to be pushed again, and a node that has the image does not pull it.
type Kept struct {
	Ref   object.Ref
	Image string
}

// KeptImage returns the image of an unchanged object that may be outdated; false if there
// is none.
func KeptImage(u *unstructured.Unstructured) (Kept, bool) {
	t, ok := templateOf(u)
	if kind := u.GetKind(); !ok || kind == "Pod" || kind == "Job" {
		return Kept{}, false // A Pod or a Job is not run again.
	}
	for _, c := range slices.Concat(t.spec.InitContainers, t.spec.Containers) {
		tag := tagOf(c.Image)
		policy := c.ImagePullPolicy
		if policy == "" && tag != "latest" {
			policy = corev1.PullIfNotPresent // As the server fills it in.
		}
		if isMoving(tag) && policy == corev1.PullIfNotPresent {
			return Kept{object.RefOf(u), c.Image}, true
		}
	}
	return Kept{}, false
}

// ImagesMayBeOld returns one remark about all of these.
func ImagesMayBeOld(kept []Kept) (event.Remarked, bool) {
	if len(kept) == 0 {
		return event.Remarked{}, false
	}
	first := slices.MinFunc(kept, func(a, b Kept) int { return a.Ref.Compare(b.Ref) })
	which := fmt.Sprintf("%s is unchanged, so its", first.Ref)
	if more := len(kept) - 1; more > 0 {
		which = fmt.Sprintf("%s and %s are unchanged, so their", first.Ref, text.Count(more, "more object"))
	}
	return event.Remarked{
		Code: "ImageMayBeOld",
		Text: which + fmt.Sprintf(" Pods keep the image that they have: if %s was pushed again, nodes that already have it will not pull it again (imagePullPolicy IfNotPresent)", text.Excerpt(first.Image)),
		Hint: "give each image a tag of its own, or name it by its digest (name@sha256:…)",
	}, true
}

// tagOf returns the tag of an image; empty if a digest names it.
func tagOf(image string) string {
	if strings.Contains(image, "@") {
		return ""
	}
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		return image[at+1:]
	}
	return "latest"
}

// isMoving reports whether a tag is a word (main, dev, latest) or a snapshot, rather than
// a version, a date or a commit.
func isMoving(tag string) bool {
	return strings.Contains(strings.ToLower(tag), "snapshot") || tag != "" && !strings.ContainsAny(tag, "0123456789")
}
