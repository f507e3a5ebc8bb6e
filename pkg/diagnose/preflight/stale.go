package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Kept is an object that did not change, with an image that may be outdated: its tag can
// be pushed again, and a node that has the image does not pull it.
type Kept struct {
	Ref   object.Ref
	Image string
	// Moves is set if tags such as this one are meant to be pushed again: dev, latest.
	// Others, such as 1.25, merely may be.
	Moves bool
}

// KeptImage returns the image of an unchanged object that may be outdated; false if there
// is none.
func KeptImage(u *unstructured.Unstructured) (Kept, bool) {
	t, ok := templateOf(u)
	if kind := u.GetKind(); !ok || kind == "Pod" || kind == "Job" {
		return Kept{}, false // A Pod or a Job is not run again.
	}
	var found Kept
	for _, c := range slices.Concat(t.spec.InitContainers, t.spec.Containers) {
		tag, pinned := tagOf(c.Image)
		policy := c.ImagePullPolicy
		if policy == "" && tag != "latest" {
			policy = corev1.PullIfNotPresent // As the server fills it in.
		}
		moves := isMoving(tag)
		if pinned || policy != corev1.PullIfNotPresent || found.Image != "" && !moves || found.Moves {
			continue
		}
		found = Kept{object.RefOf(u), c.Image, moves}
	}
	return found, found.Image != ""
}

// ImagesMayBeOld returns one remark about all of these. Calm is set if nothing else
// changed in the run, so that users may wonder why.
func ImagesMayBeOld(kept []Kept, calm bool) (event.Remarked, bool) {
	var told []Kept
	for _, k := range kept {
		if k.Moves || calm {
			told = append(told, k)
		}
	}
	if len(told) == 0 {
		return event.Remarked{}, false
	}
	slices.SortStableFunc(told, func(a, b Kept) int {
		switch {
		case a.Moves != b.Moves && a.Moves:
			return -1
		case a.Moves != b.Moves:
			return 1
		}
		return a.Ref.Compare(b.Ref)
	})
	first := told[0]
	which := fmt.Sprintf("%s is unchanged, so its", first.Ref)
	if more := len(told) - 1; more > 0 {
		which = fmt.Sprintf("%s and %s are unchanged, so their", first.Ref, text.Count(more, "more object"))
	}
	return event.Remarked{
		Code: "ImageMayBeOld",
		Text: which + fmt.Sprintf(" Pods keep the image that they have: if %s was pushed again, no node that has one of that name pulls it (imagePullPolicy IfNotPresent)", text.Excerpt(first.Image)),
		Hint: "give each image a tag of its own, or name it by its digest (name@sha256:…)",
	}, true
}

// tagOf returns the tag of an image. Pinned is set if it cannot become another image, or
// by convention does not: a digest, a full version, a commit, a date.
func tagOf(image string) (tag string, pinned bool) {
	if strings.Contains(image, "@") {
		return "", true
	}
	tag = "latest"
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		tag = image[at+1:]
	}
	if strings.Contains(strings.ToLower(tag), "snapshot") {
		return tag, false
	}
	return tag, regexp.MustCompile(`\d+\.\d+\.\d+|\d{6,}`).MatchString(tag) ||
		slices.ContainsFunc(regexp.MustCompile(`[^0-9a-zA-Z]+`).Split(tag, -1), isCommit)
}

// isCommit reports whether a part of a tag is a commit's hash, or the beginning of one.
func isCommit(part string) bool {
	return len(part) >= 7 && strings.ContainsAny(part, "0123456789") && strings.Trim(part, "0123456789abcdef") == ""
}

// isMoving reports whether a tag is a word rather than a version.
func isMoving(tag string) bool {
	return strings.Contains(strings.ToLower(tag), "snapshot") || !strings.ContainsAny(tag, "0123456789")
}
