package wait

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// asked bounds how many objects that are not there are looked into.
const asked = 5

// missed notes an object that was not there at the first look, although nothing said that
// it may be absent: its name may be a slip.
func (r *run) missed(it *item) {
	goal := it.goal
	if !r.looking && !goal.waitsFor(condition.Create) && !goal.waitsFor(condition.Delete) && (r.Existence == nil || *r.Existence > 0) {
		r.missing = append(r.missing, it)
	}
}

// tellMissing says at once which objects are not there, and has it asked why.
func (r *run) tellMissing(ctx context.Context, asking *group) {
	missing := r.missing
	r.missing = nil
	if len(missing) == 0 || r.Absent == nil {
		return
	}
	slices.SortFunc(missing, func(a, b *item) int { return strings.Compare(a.ref.String(), b.ref.String()) })
	what := missing[0].ref.String() + " does not exist yet; waiting for it"
	if more := len(missing) - 1; more > 0 {
		what = fmt.Sprintf("%s and %d more do not exist yet; waiting for them", missing[0].ref, more)
	}
	r.emit(event.Warned{Text: what})
	for _, it := range missing[:min(asked, len(missing))] {
		kind, ref := it.view.kind, it.ref
		asking.start(func(tell func(message)) {
			tell(message{view: it.view, item: it, why: r.Absent(ctx, kind, ref)})
		})
	}
}

// absentFor remembers why an object may not be there, and tells it once for all of
// which it is so.
func (r *run) absentFor(it *item, why string) {
	it.why = why
	if why == "" || r.told[why] {
		return
	}
	r.told[why] = true
	r.emit(event.Warned{Text: why})
}

// whyAbsent adds to the results of objects that are not there why that may be.
func (r *run) whyAbsent(ctx context.Context, items []*item, results []event.Waited) {
	if r.Absent == nil || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, explaining)
	defer cancel()
	var wait sync.WaitGroup
	left := asked
	for i, it := range items {
		if it.live != nil || !it.known || it.found || left == 0 || results[i].Action == event.Unknown {
			continue
		}
		left--
		wait.Go(func() {
			why := it.why
			if why == "" {
				why = r.Absent(ctx, it.view.kind, it.ref)
			}
			if why != "" {
				results[i].Note += "; " + why
			}
		})
	}
	wait.Wait()
}

func notThere(it *item) string {
	if it.note != "" {
		return it.note
	}
	return "does not exist"
}
