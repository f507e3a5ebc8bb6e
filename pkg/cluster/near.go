package cluster

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	wanted, _, _ := strings.Cut(strings.ToLower(text), ".")
	return t.names(func(gr schema.GroupResource, r metav1.APIResource) []string {
		for _, known := range append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...) {
			if similar(wanted, known) {
				return []string{gr.String()}
			}
		}
		return nil
	})
}

// similar tells whether one word may be a slip of the pen for the other: one edit
// for every three letters.
func similar(a, b string) bool {
	const letters = 3
	return min(len(a), len(b)) >= letters && edits(a, b) <= max(len(a), len(b))/letters
}

// edits is how many letters to add, drop, change or swap with their neighbour to
// make one word the other (optimal string alignment).
func edits(a, b string) int {
	row := func() []int { return make([]int, len(b)+1) }
	twoUp, up, now := row(), row(), row()
	for j := range up {
		up[j] = j
	}
	for i := range a {
		now[0] = i + 1
		for j := range b {
			now[j+1] = min(up[j+1], now[j]) + 1
			if a[i] == b[j] {
				now[j+1] = min(now[j+1], up[j])
			} else {
				now[j+1] = min(now[j+1], up[j]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], twoUp[j-1]+1)
			}
		}
		twoUp, up, now = up, now, twoUp
	}
	return up[len(b)]
}

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
