package stuck

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Diagnose says why an object does not go away, the causes at the root of it
// first. There is always one: at least Unknown, with what was looked at, or
// Progressing.
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

// causes runs all rules for one object. Each knows by itself whether the object is
// any of its business.
func (d *diagnosis) causes(u *unstructured.Unstructured) []finding {
	key := object.RefOf(u).Key()
	if slices.Contains(d.looked, key) || len(d.looked) > deepest {
		return nil // A circle, or too far below to be told.
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

// deepest is how many objects below one another are looked into: of a namespace
// its claim, of the claim its pod.
const deepest = 3
