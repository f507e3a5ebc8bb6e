package stuck

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Diagnose explains why an object does not go away, root causes first. There is always at
// least one cause: if nothing else, Progressing, or Unknown with what was examined.
func Diagnose(f Facts) []event.Cause {
	return newDiagnosis(diagnose.NewRun(f.Now, f.known)).explain(f)
}

func newDiagnosis(r *diagnose.Run) *diagnosis {
	d := &diagnosis{Run: r, classes: map[class]object.Ref{}}
	d.rules = []rule{d.namespace, d.definition, d.conversion, d.pod, d.attachment, d.storage, d.finalizers}
	return d
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
