package stuck

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// rank orders causes: those on whose cure others depend come first.
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

// finding is a cause and its rank among the others.
type finding struct {
	event.Cause
	rank rank
}

// diagnosis is one run of the rules over the known facts.
type diagnosis struct {
	*diagnose.Run
	// looked are the objects whose causes are being looked for, each held up by the next.
	looked []object.Key
	// classes has the object that stands for all others of its class.
	classes map[class]object.Ref
	// rules are run for each object. They are a field because rules, in turn, ask for the
	// causes of what holds up their object.
	rules []rule
}

// rule finds causes why an object does not go. It decides itself whether it applies.
type rule func(*unstructured.Unstructured) []finding

// sorted orders findings by rank and drops duplicates.
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

// Facts is what is known about one object that is being deleted.
type Facts struct {
	// Now is the time of the look.
	Now time.Time
	// Object is the object as it was last read, possibly only its metadata.
	Object *unstructured.Unstructured
	// Before and After are two looks at what it holds; After is zero if there was only
	// one.
	Before, After Look

	known *diagnose.Facts
}

// Look is how much an object held at a time.
type Look struct {
	At   time.Time
	Left int
}

// class is what objects have in common if one can stand for all, because the update that
// removes the finalizer has the same result for each.
type class struct {
	kind      schema.GroupKind
	finalizer string
	hooks     string
}

// deepest limits the levels of objects that are followed: from a namespace to its claim,
// from the claim to its pod.
const deepest = 3

// causes runs all rules for one object.
func (d *diagnosis) causes(u *unstructured.Unstructured) []finding {
	key := object.RefOf(u).Key()
	if slices.Contains(d.looked, key) || len(d.looked) > deepest {
		return nil // A cycle, or too deep to be reported.
	}
	d.looked = append(d.looked, key)
	defer func() { d.looked = d.looked[:len(d.looked)-1] }()
	var found []finding
	for _, one := range d.rules {
		found = append(found, one(u)...)
	}
	return found
}
