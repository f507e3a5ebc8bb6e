package stuck

import (
	"cmp"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Diagnose says why an object does not go away, the causes at the root of it
// first. There is always one: at least Unknown, with what was looked at, or
// Progressing.
func Diagnose(f Facts) []event.Cause {
	d := newDiagnosis(f.Now, f.known)
	return d.explain(f)
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

// diagnosis is one run of the rules over what is known. What a rule asks for and
// is not known yet is noted; the rules are run again when it is. So the rules say
// what to gather, and nothing else is.
type diagnosis struct {
	now   time.Time
	known *known
	// asked was not known, misses counts how often.
	asked  map[question]bool
	misses int
	// blind are the questions that got no answer.
	blind map[question]error
	// excused are those of which a cause tells why.
	excused map[question]bool
	// looked are the objects whose causes were looked for, one below the other.
	looked []object.Key
	// classes are the objects that stand for others like them.
	classes map[class]object.Ref
	// read is what was made of lists that many objects ask for.
	read map[string]any
}

// once makes something of what is known, once in a diagnosis.
func once[T any](d *diagnosis, what string, read func() T) T {
	if made, ok := d.read[what].(T); ok {
		return made
	}
	made := read()
	d.read[what] = made
	return made
}

func newDiagnosis(now time.Time, k *known) *diagnosis {
	if k == nil {
		k = newKnown()
	}
	return &diagnosis{now: now, known: k, asked: map[question]bool{}, blind: map[question]error{}, excused: map[question]bool{}, read: map[string]any{}}
}

// explain runs the rules for the object and orders what they find.
func (d *diagnosis) explain(f Facts) []event.Cause {
	if f.Object == nil || !terminating(f.Object) {
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

// ask answers a question if it is known.
func (d *diagnosis) ask(q question) (answer, bool) {
	a, ok := d.known.find(q)
	if !ok {
		d.asked[q] = true
		d.misses++
		return a, false
	}
	if a.err != nil {
		if !d.excused[q] {
			d.blind[q] = a.err
		}
		return a, false
	}
	return a, true
}

// get reads one object. It is nil where it does not exist; then sure tells that it
// is known not to.
func (d *diagnosis) get(gvk schema.GroupVersionKind, namespace, name string) (u *unstructured.Unstructured, sure bool) {
	a, ok := d.ask(question{verb: get, gvk: gvk, namespace: namespace, name: name})
	return a.object, ok
}

// list reads all objects of a kind; all namespaces if that is empty.
func (d *diagnosis) list(gvk schema.GroupVersionKind, namespace string) (objects []*unstructured.Unstructured, sure bool) {
	a, ok := d.ask(question{verb: list, gvk: gvk, namespace: namespace})
	return a.objects, ok
}

// metadata is list for nothing but their metadata.
func (d *diagnosis) metadata(gvk schema.GroupVersionKind, namespace string) (objects []*unstructured.Unstructured, sure bool) {
	a, ok := d.ask(question{verb: metadata, gvk: gvk, namespace: namespace})
	return a.objects, ok
}

// kinds are the kinds that the server serves.
func (d *diagnosis) kinds() ([]object.Kind, bool) {
	a, ok := d.ask(question{verb: kinds})
	return a.kinds, ok
}

// allowed tells whether a user may do something. Where we may not ask, it is not
// known.
func (d *diagnosis) allowed(user, verb string, ref object.Ref) (yes, sure bool) {
	a, ok := d.ask(question{verb: allowed, gvk: ref.GVK, namespace: ref.Namespace, name: ref.Name, user: user, detail: verb})
	return a.yes, ok
}

// whole is the object with its spec and status.
func (d *diagnosis) whole(u *unstructured.Unstructured) *unstructured.Unstructured {
	live, _ := d.get(u.GroupVersionKind(), u.GetNamespace(), u.GetName())
	return live
}

// as reads an object into its type; false where there is none, or one of another
// shape.
func as[T any](u *unstructured.Unstructured) (T, bool) {
	var typed T
	if u == nil {
		return typed, false
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &typed)
	return typed, err == nil
}

// all is as for many; what has another shape is left out.
func all[T any](objects []*unstructured.Unstructured) []T {
	var typed []T
	for _, u := range objects {
		if t, ok := as[T](u); ok {
			typed = append(typed, t)
		}
	}
	return typed
}

func kindOf(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

func refOf(apiVersion, kind, namespace, name string) object.Ref {
	return object.Ref{GVK: kindOf(apiVersion, kind), Namespace: namespace, Name: name}
}

// isKind tells whether an object is of a kind, at whatever version.
func isKind(u *unstructured.Unstructured, group, kind string) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Group: group, Kind: kind}
}

// denied tells that we were not allowed to look.
func denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}
