package stuck

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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
		Message: fmt.Sprintf("it is not stuck: %d of what it held went in the last %s, %s left", gone, took.Round(100*time.Millisecond), count(f.After.Left, "object")),
	}}
	if f.After.Left > 0 {
		moving.Evidence = []string{fmt.Sprintf("%.1f a second; at this rate it takes another %s", rate, ago(time.Duration(float64(f.After.Left)/rate*float64(time.Second))+time.Second))}
	}
	return moving, true
}

// left is what the object holds, as far as that is known; false for one that holds
// nothing.
func (d *diagnosis) left(u *unstructured.Unstructured) (contents, bool) {
	switch {
	case isKind(u, "", "Namespace"):
		return d.contents(u.GetName()), true
	case isKind(u, definitions, "CustomResourceDefinition"):
		gvk, ok := instances(d.whole(u))
		objects, sure := d.metadata(gvk, "")
		c := contents{sure: sure}
		c.add(objects)
		return c, ok
	default:
		return contents{}, false
	}
}

// lookAgain looks a second time at what the object holds, where there is no earlier
// look to compare with.
func (g *Gatherer) lookAgain(ctx context.Context, f Facts) (Facts, error) {
	d := newDiagnosis(f.Now, f.known)
	held, ok := d.left(f.Object)
	if !ok || held.total() == 0 {
		return f, nil
	}
	now := Look{At: f.Now, Left: held.total()}
	before, seen := g.remember(f.Object.GetUID(), now)
	if wait := g.pause(); !seen || now.At.Sub(before.At) < wait {
		if err := sleep(ctx, wait); err != nil {
			return f, err
		}
		again, err := g.count(ctx, f, held)
		if err != nil {
			return f, err
		}
		before, now = now, again
		g.remember(f.Object.GetUID(), now)
	}
	f.Before, f.After = before, now
	return f, nil
}

// count looks again at the kinds of which there was something.
func (g *Gatherer) count(ctx context.Context, f Facts, held contents) (Look, error) {
	namespace := ""
	if isKind(f.Object, "", "Namespace") {
		namespace = f.Object.GetName()
	}
	asked := map[question]bool{}
	for _, u := range append(held.going, held.present...) {
		asked[question{verb: metadata, gvk: u.GroupVersionKind(), namespace: namespace}] = true
	}
	again := newKnown()
	if err := g.askAll(ctx, again, batches(again, asked)); err != nil {
		return Look{}, err
	}
	look := Look{At: g.now()}
	for q := range asked {
		a, ok := again.find(q)
		if !ok || a.err != nil { // Then nothing can be compared.
			return Look{At: look.At, Left: held.total()}, nil
		}
		look.Left += len(a.objects)
	}
	return look, nil
}

// remember keeps a look for the next explanation, and returns the one before.
func (g *Gatherer) remember(uid types.UID, now Look) (Look, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.looks == nil {
		g.looks = map[types.UID]Look{}
	}
	before, seen := g.looks[uid]
	g.looks[uid] = now
	return before, seen
}

func (g *Gatherer) pause() time.Duration {
	if g.Pause == 0 {
		return pause
	}
	return g.Pause
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
