package discovery

import (
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// isNear reports whether a type was probably meant.
func isNear(typed string, gr schema.GroupResource, r metav1.APIResource) bool {
	wanted, group, _ := strings.Cut(strings.ToLower(typed), ".")
	// A user who names another group means another kind, which may be yet to come.
	if group != "" && !sameGroup(group, gr.Group) {
		return false
	}
	names := append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...)
	return slices.ContainsFunc(names, func(known string) bool { return text.Similar(wanted, known) })
}

// nearKind returns the kind of a group version that was probably meant by an unknown one.
func nearKind(list *metav1.APIResourceList, gvk schema.GroupVersionKind) string {
	var known []string
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			known = append(known, r.Kind)
		}
	}
	return text.Nearest(gvk.Kind, known)
}

// sameGroup reports whether the text after the name of a type, a group with or without a
// version before it, probably means the group.
func sameGroup(typed, group string) bool {
	if first, rest, _ := strings.Cut(typed, "."); versions.MatchString(first) {
		typed = rest
	}
	return typed == group || typed != "" && strings.HasPrefix(group, typed+".") || isSlip(typed, group)
}

// isSlip reports whether a group was mistyped. Groups are domains, and those of one owner
// differ in a word, or in a letter of a short one: ecs.aws.upbound.io is not a slip of
// ecr.aws.upbound.io.
func isSlip(typed, group string) bool {
	const most, letters = 2, 4 // edits in all, and letters of a word for each
	one, other := strings.Split(typed, "."), strings.Split(group, ".")
	if len(one) != len(other) {
		return strings.Join(one, "") == strings.Join(other, "") // a dot too many or too few
	}
	edits := 0
	for i := range one {
		n := text.Edits(one[i], other[i])
		if n > max(len(one[i]), len(other[i]))/letters {
			return false
		}
		edits += n
	}
	return edits <= most
}

var versions = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)
