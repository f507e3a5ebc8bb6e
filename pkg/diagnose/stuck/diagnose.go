package stuck

import (
	"cmp"
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

// rank orders causes: what must be cured for others to be curable comes first.
type rank int

const (
	rankServer    rank = iota // the API server itself
	rankAdmission             // nothing can be updated
	rankBroken                // what should act does not run
	rankHeld                  // another object has to change
	rankMoving                // it is slow, not stuck
	rankSilent                // what should act runs, and does not
	rankWaiting               // it may just take its time
	rankBlind                 // what we could not see
)

// finding is a cause and where it stands among the others.
type finding struct {
	event.Cause
	rank rank
}

// diagnosis is one run of the rules over what is known.
type diagnosis struct {
	*diagnose.Run
	// looked are the objects whose causes were looked for, one below the other.
	looked []object.Key
	// classes are the objects that stand for others like them.
	classes map[class]object.Ref
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

// sorted orders findings by rank, and drops what was found twice.
func sorted(findings []finding) []event.Cause {
	findings = merged(findings)
	causes := make([]event.Cause, len(findings))
	for i, f := range findings {
		causes[i] = f.Cause
	}
	return causes
}

func merged(findings []finding) []finding {
	slices.SortStableFunc(findings, func(a, b finding) int { return cmp.Compare(a.rank, b.rank) })
	seen := map[rootKey]bool{}
	return slices.DeleteFunc(findings, func(f finding) bool {
		key := keyOf(f.Cause)
		found := seen[key]
		seen[key] = true
		return found
	})
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
