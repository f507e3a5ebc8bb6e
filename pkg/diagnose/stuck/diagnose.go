package stuck

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Diagnose explains why an object does not go away, root causes first. There is
// always a cause: at least Unknown, with what was looked at, or Progressing.
func Diagnose(f Facts) []event.Cause {
	return newDiagnosis(diagnose.NewRun(f.Now, f.known)).explain(f)
}

func newDiagnosis(r *diagnose.Run) *diagnosis {
	return &diagnosis{Run: r, classes: map[class]object.Ref{}}
}

// explain runs the rules for the object and orders what they find.
func (d *diagnosis) explain(f Facts) []event.Cause {
	if f.Object == nil || !diagnose.Terminating(f.Object) {
		return []event.Cause{notTerminating(f.Object)}
	}
	findings := d.causes(f.Object)
	if moving, ok := d.progress(f, findings); ok {
		findings = append(findings, moving)
	}
	findings = append(findings, d.server()...)
	if unread, ok := d.unread(); ok {
		findings = append(findings, unread)
	}
	if len(findings) == 0 {
		findings = append(findings, d.unknown(f.Object))
	}
	return sorted(findings)
}

// causes runs all rules for one object. Each rule decides on its own whether it
// applies.
func (d *diagnosis) causes(u *unstructured.Unstructured) []finding {
	key := object.RefOf(u).Key()
	if slices.Contains(d.looked, key) || len(d.looked) > deepest {
		return nil // A cycle, or too deep to be reported.
	}
	d.looked = append(d.looked, key)
	defer func() { d.looked = d.looked[:len(d.looked)-1] }()
	var found []finding
	for _, rule := range []func(*unstructured.Unstructured) []finding{
		d.namespace, d.definition, d.conversion, d.pod, d.attachment, d.storage, d.finalizers,
	} {
		found = append(found, rule(u)...)
	}
	return found
}

// deepest is how many levels of objects are followed: from a namespace to its
// claim, from the claim to its pod.
const deepest = 3
