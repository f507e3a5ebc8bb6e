package cluster

import (
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// near returns the types that were probably meant.
func (t catalogue) near(typed string) []string {
	wanted, group, _ := strings.Cut(strings.ToLower(typed), ".")
	return t.names(func(gr schema.GroupResource, r metav1.APIResource) []string {
		// Who names another group means another kind, which may be yet to come.
		if group != "" && !sameGroup(group, gr.Group) {
			return nil
		}
		for _, known := range append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...) {
			if text.Similar(wanted, known) {
				return []string{gr.String()}
			}
		}
		return nil
	})
}

// nearKind returns the kind of a group version that was probably meant by one that it
// does not have.
func nearKind(list *metav1.APIResourceList, gvk schema.GroupVersionKind) string {
	var known []string
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			known = append(known, r.Kind)
		}
	}
	return text.Nearest(gvk.Kind, known)
}

// sameGroup reports whether what was typed behind the name of a type, a group with
// or without a version before it, probably means the group.
func sameGroup(typed, group string) bool {
	if first, rest, _ := strings.Cut(typed, "."); versions.MatchString(first) {
		typed = rest
	}
	return typed == group || !strings.HasSuffix(typed, "."+group) && text.Similar(typed, group)
}

var versions = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
