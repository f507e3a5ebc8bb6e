package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/spelling"
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
		return "see: kubectl api-resources"
	}
	return "did you mean " + strings.Join(e.Near, " or ") + "?"
}

// near returns the types that were probably meant.
func (t catalogue) near(text string) []string {
	wanted, group, _ := strings.Cut(strings.ToLower(text), ".")
	return t.names(func(gr schema.GroupResource, r metav1.APIResource) []string {
		// Who names another group means another kind, which may be yet to come.
		if group != "" && !sameGroup(group, gr.Group) {
			return nil
		}
		for _, known := range append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...) {
			if spelling.Similar(wanted, known) {
				return []string{gr.String()}
			}
		}
		return nil
	})
}

// sameGroup tells whether what was typed behind the name of a type, a group with
// or without a version before it, probably means the group.
func sameGroup(typed, group string) bool {
	if first, rest, _ := strings.Cut(typed, "."); versions.MatchString(first) {
		typed = rest
	}
	return typed == group || !strings.HasSuffix(typed, "."+group) && spelling.Similar(typed, group)
}

var versions = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
