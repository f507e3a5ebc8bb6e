package stuck

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// progress tells from two looks that an object is slow, not stuck (edge case 58).
func (d *diagnosis) progress(f Facts, _ []finding) (finding, bool) {
	gone := f.Before.Left - f.After.Left
	took := f.After.At.Sub(f.Before.At)
	if gone <= 0 || took <= 0 {
		return finding{}, false
	}
	rate := float64(gone) / took.Seconds()
	moving := finding{rank: rankMoving, Cause: event.Cause{
		Code:    Progressing,
		Message: fmt.Sprintf("it is not stuck: %d of what it held went in the last %s, %s left", gone, took.Round(100*time.Millisecond), diagnose.Count(f.After.Left, "object")),
	}}
	if f.After.Left > 0 {
		moving.Evidence = []string{fmt.Sprintf("%.1f a second; at this rate it takes another %s", rate, diagnose.Ago(time.Duration(float64(f.After.Left)/rate*float64(time.Second))+time.Second))}
	}
	return moving, true
}

// left is what the object holds, as far as that is known; false for one that holds
// nothing.
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

// Look is how much an object held at a time.
type Look struct {
	At   time.Time
	Left int
}

// pause lies between two looks at what an object holds.
const pause = time.Second

// lookAgain looks a second time at what the object holds, where there is no earlier
// look to compare with.
func (e *Explainer) lookAgain(ctx context.Context, f Facts) (Facts, error) {
	held, ok := newDiagnosis(diagnose.NewRun(f.Now, f.known)).left(f.Object)
	if !ok || held.total() == 0 {
		return f, nil
	}
	now := Look{At: f.Now, Left: held.total()}
	before, seen := e.remember(f.Object.GetUID(), now)
	if wait := cmp.Or(e.Pause, pause); !seen || now.At.Sub(before.At) < wait {
		if err := sleep(ctx, wait); err != nil {
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

// count looks again at the kinds of which there was something.
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
		if !ok || a.Err != nil { // Then nothing can be compared.
			return Look{At: look.At, Left: held.total()}, nil
		}
		look.Left += len(a.Objects)
	}
	return look, nil
}

// remember keeps a look for the next explanation, and returns the one before.
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

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
