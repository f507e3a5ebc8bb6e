package stuck

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// progress concludes from two looks that an object is slow, not stuck (edge case
// 58).
func (d *diagnosis) progress(f Facts, _ []finding) (finding, bool) {
	gone := f.Before.Left - f.After.Left
	took := f.After.At.Sub(f.Before.At)
	if gone <= 0 || took <= 0 {
		return finding{}, false
	}
	rate := float64(gone) / took.Seconds()
	moving := finding{rank: rankMoving, Cause: event.Cause{
		Code:    Progressing,
		Message: fmt.Sprintf("it is not stuck: %d of the objects that it held went away in the last %s, %s left", gone, took.Round(100*time.Millisecond), text.Count(f.After.Left, "object")),
	}}
	if f.After.Left > 0 {
		moving.Evidence = []string{fmt.Sprintf("%.1f a second; at this rate it takes another %s", rate, diagnose.Ago(time.Duration(float64(f.After.Left)/rate*float64(time.Second))+time.Second))}
	}
	return moving, true
}

// left returns what the object holds, as far as it is known. It is false for an object
// that holds nothing.
func (d *diagnosis) left(u *unstructured.Unstructured) (contents, bool) {
	switch {
	case diagnose.IsKind(u, "", "Namespace"):
		return d.contents(u.GetName()), true
	case diagnose.IsKind(u, definitions, "CustomResourceDefinition"):
		gvk, ok := instances(d.Whole(u))
		objects, sure := d.Metadata(gvk, "")
		c := contents{sure: sure}
		c.add(objects)
		return c, ok
	default:
		return contents{}, false
	}
}
