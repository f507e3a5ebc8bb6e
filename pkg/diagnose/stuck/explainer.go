package stuck

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Explainer explains stuck deletions. It is safe for concurrent use. Its Gatherer requires a
// Reader.
type Explainer struct {
	diagnose.Gatherer
	// Pause is the time between the two counts of an object's contents that show progress; 0 means
	// one second.
	Pause time.Duration

	mu    sync.Mutex
	looks map[types.UID]Look // last counts
}

// Explain gathers facts about the object, and diagnoses why its deletion is stuck.
func (e *Explainer) Explain(ctx context.Context, _ object.Kind, live *unstructured.Unstructured) ([]event.Cause, error) {
	facts, err := e.Gather(ctx, live)
	if err != nil {
		return nil, err
	}
	return Diagnose(facts), nil
}

// Gather reads the facts about an object, and marks those that cannot be read. It returns an error
// only if ctx ends.
func (e *Explainer) Gather(ctx context.Context, live *unstructured.Unstructured) (Facts, error) {
	f := Facts{Now: e.Time(), Object: live, known: diagnose.NewFacts(live)}
	if err := e.Fill(ctx, f.known, func(r *diagnose.Run) { newDiagnosis(r).explain(f) }); err != nil {
		return f, err
	}
	return e.lookAgain(ctx, f)
}

func (e *Explainer) lookAgain(ctx context.Context, f Facts) (Facts, error) {
	held, ok := newDiagnosis(diagnose.NewRun(f.Now, f.known)).remainingContents(f.Object)
	if !ok || held.total() == 0 {
		return f, nil
	}
	now := Look{At: f.Now, Left: held.total()}
	before, seen := e.remember(f.Object.GetUID(), now)
	if wait := cmp.Or(e.Pause, time.Second); !seen || now.At.Sub(before.At) < wait {
		if err := retry.For(ctx, wait); err != nil {
			return f, err
		}
		again, err := e.count(ctx, f, held)
		if err != nil {
			return f, err
		}
		before, now = now, again
		e.remember(f.Object.GetUID(), now)
	}
	f.Before, f.After = before, now
	return f, nil
}

func (e *Explainer) count(ctx context.Context, f Facts, held contents) (Look, error) {
	namespace := ""
	if diagnose.IsKind(f.Object, "", "Namespace") {
		namespace = f.Object.GetName()
	}
	asked := map[diagnose.Question]bool{}
	for _, u := range append(held.going, held.present...) {
		asked[diagnose.Question{Verb: diagnose.Metadata, GVK: u.GroupVersionKind(), Namespace: namespace}] = true
	}
	again := diagnose.NewFacts()
	if err := e.AskAll(ctx, again, slices.Collect(maps.Keys(asked))); err != nil {
		return Look{}, err
	}
	look := Look{At: e.Time()}
	for q := range asked {
		a, ok := again.Find(q)
		if !ok || a.Err != nil { // The counts cannot be compared.
			return Look{At: look.At, Left: held.total()}, nil
		}
		look.Left += len(a.Objects)
	}
	return look, nil
}

func (e *Explainer) remember(uid types.UID, now Look) (Look, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.looks == nil {
		e.looks = map[types.UID]Look{}
	}
	before, seen := e.looks[uid]
	e.looks[uid] = now
	return before, seen
}

// progress returns a finding if the deletion is slow but not stuck (edge case 58). If one of the
// other findings holds back a part of what is left, that part does not go at the rate of the rest,
// so progress then makes no forecast.
func progress(f Facts, others []finding) (finding, bool) {
	gone := f.Before.Left - f.After.Left
	took := f.After.At.Sub(f.Before.At)
	if gone <= 0 || took <= 0 {
		return finding{}, false
	}
	went := fmt.Sprintf("%d of its objects went away in the last %s, %s remaining", gone, took.Round(100*time.Millisecond), text.Count(f.After.Left, "object"))
	if f.After.Left > 0 && slices.ContainsFunc(others, func(o finding) bool { return o.rank < rankMoving }) {
		rest := ", some of which another cause holds back"
		if f.After.Left == 1 {
			rest = ", which another cause holds back"
		}
		return finding{rank: rankMoving, Cause: event.Cause{Code: Progressing, Message: went + rest}}, true
	}
	rate := float64(gone) / took.Seconds()
	moving := finding{rank: rankMoving, Cause: event.Cause{Code: Progressing, Message: "it is not stuck: " + went}}
	if f.After.Left > 0 {
		moving.Evidence = []string{fmt.Sprintf("%.1f a second; at this rate it will take another %s", rate, diagnose.Ago(time.Duration(float64(f.After.Left)/rate*float64(time.Second))+time.Second))}
	}
	return moving, true
}

// remainingContents returns the contents of a namespace or a CRD.
func (d *diagnosis) remainingContents(u *unstructured.Unstructured) (contents, bool) {
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

// Scope selects the objects of a survey.
type Scope struct {
	Kinds     []object.Kind
	Selection object.Selection
}

// UnreadError says that some kinds could not be read. The other results are valid.
type UnreadError struct{ Unread []event.Unread }

func (e *UnreadError) Error() string {
	message := make([]string, len(e.Unread))
	for i, u := range e.Unread {
		message[i] = fmt.Sprintf("%s (%s)", u.Ref, reason(u.Err))
	}
	return "could not be read: " + strings.Join(message, "; ")
}

// Survey explains the terminating objects in scope. If some kinds could not be read, it also
// returns an *UnreadError.
func (e *Explainer) Survey(ctx context.Context, scope Scope) ([]Root, []Explained, error) {
	known := diagnose.NewFacts()
	served := scope.Kinds
	if served == nil {
		everything := diagnose.Question{Verb: diagnose.Kinds}
		if err := e.AskAll(ctx, known, []diagnose.Question{everything}); err != nil {
			return nil, nil, err
		}
		a, _ := known.Find(everything)
		if a.Err != nil {
			return nil, nil, fmt.Errorf("discover what the server serves: %w", a.Err)
		}
		served = a.Kinds
	}
	objects, unread := e.terminating(ctx, known, served, scope.Selection)
	if unread != nil && ctx.Err() != nil {
		return nil, nil, unread
	}
	var out []Explained
	run := func(d *diagnosis) {
		out = make([]Explained, len(objects))
		for i, u := range objects {
			out[i] = Explained{Ref: object.RefOf(u), Since: u.GetDeletionTimestamp().Time, Causes: sorted(d.causes(u))}
		}
	}
	if err := e.Fill(ctx, known, func(r *diagnose.Run) { run(newDiagnosis(r)) }); err != nil {
		return nil, nil, err
	}
	d := newDiagnosis(diagnose.NewRun(e.Time(), known))
	run(d)
	d.complete(objects, out)
	return Roots(out), out, unread
}

func (d *diagnosis) complete(objects []*unstructured.Unstructured, out []Explained) {
	unread, blind := d.unread()
	server := sorted(d.server())
	for i := range out {
		if len(out[i].Causes) > 0 {
			continue
		}
		out[i].Causes = append(out[i].Causes, server...)
		if blind {
			out[i].Causes = append(out[i].Causes, unread.Cause)
		}
		if len(out[i].Causes) == 0 {
			out[i].Causes = append(out[i].Causes, d.unknown(objects[i]).Cause)
		}
	}
}

// terminating reads only metadata, of all kinds at once. It returns the objects that it has found also with an
// error that lists the unread kinds.
func (e *Explainer) terminating(ctx context.Context, known *diagnose.Facts, served []object.Kind, sel object.Selection) ([]*unstructured.Unstructured, error) {
	var questions []diagnose.Question
	for _, kind := range served {
		if kind.Namespaced || sel.Namespace == "" {
			q := diagnose.Question{Verb: diagnose.Metadata, GVK: kind.GVK, Name: sel.Name, Labels: sel.Labels, Namespace: sel.Namespace}
			questions = append(questions, q)
		}
	}
	if err := e.AskAll(ctx, known, questions); err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	var unread UnreadError
	for _, q := range questions {
		a, _ := known.Find(q)
		if a.Err != nil {
			unread.Unread = append(unread.Unread, event.Unread{Ref: object.Ref{GVK: q.GVK, Namespace: q.Namespace, Name: q.Name}, Err: a.Err})
		}
		for _, u := range a.Objects {
			if diagnose.Terminating(u) {
				found = append(found, u)
			}
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return object.RefOf(a).Compare(object.RefOf(b)) })
	if len(unread.Unread) > 0 {
		return found, &unread
	}
	return found, nil
}
