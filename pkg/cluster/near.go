package cluster

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NoTypeError says that the server serves nothing by the name of a type.
type NoTypeError struct {
	// Type is what was asked for.
	Type string
	// Near are the types that were probably meant.
	Near []string
	// Err is why it can not be told for sure; nil where it can.
	Err error
}

func (e *NoTypeError) Error() string {
	text := fmt.Sprintf("the server serves no type %q", e.Type)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *NoTypeError) Unwrap() error { return e.Err }

// Is makes [meta.IsNoMatchError] true for it.
func (e *NoTypeError) Is(target error) bool {
	_, ok := target.(*meta.NoResourceMatchError)
	return ok
}

// Hint says which type was probably meant.
func (e *NoTypeError) Hint() string {
	if len(e.Near) == 0 {
		return "see: " + command.Kubectl("api-resources")
	}
	return "did you mean " + strings.Join(e.Near, " or ") + "?"
}

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

// Elsewhere returns the versions in which the server serves a kind that it does not
// serve in the one that is asked for. An object that was written down with a version
// of old may well be there, under a newer one. Of extensions, which is where many of
// Kubernetes' own kinds once were, other groups count, too.
func (c *Client) Elsewhere(ctx context.Context, gvk schema.GroupVersionKind) ([]schema.GroupVersion, error) {
	var served []schema.GroupVersion
	err := c.look(ctx, "", func(t catalogue) error {
		served = t.elsewhere(gvk)
		return nil
	})
	return served, err
}

func (t catalogue) elsewhere(gvk schema.GroupVersionKind) []schema.GroupVersion {
	var served []schema.GroupVersion
	for _, group := range t.groups {
		if group.Group.Name != gvk.Group && (gvk.Group != "extensions" || !kubernetesOwn(group.Group.Name)) {
			continue
		}
		for _, v := range group.Group.Versions {
			gv := schema.GroupVersion{Group: group.Group.Name, Version: v.Version}
			_, err := find(&metav1.APIResourceList{APIResources: group.VersionedResources[v.Version]}, gv.WithKind(gvk.Kind))
			if err == nil && gv != gvk.GroupVersion() {
				served = append(served, gv)
			}
		}
	}
	return served
}

// sameGroup tells whether what was typed behind the name of a type, a group with
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
