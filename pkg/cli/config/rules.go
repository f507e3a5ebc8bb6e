package config

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// Rules hear what choices decide in a run. A nil *Rules hears nothing.
type Rules struct {
	predictor predict.Predictor
	explain   bool

	mu sync.Mutex
	// matched are the places of rules that spoke of something.
	matched   map[string]bool
	decisions []predict.Decision
}

// Ruled gives a predictor the rules of the file. What they decide is heard only if there are
// any, or if it is to be explained.
func (f *Flags) Ruled(s *Settings, predictor *predict.Predictor) *Rules {
	predictor.Standing = s.Rules
	if len(s.Rules.Take)+len(s.Rules.Yield) == 0 && !f.explain {
		return nil
	}
	r := &Rules{explain: f.explain, matched: map[string]bool{}}
	r.predictor = *predictor
	predictor.Tell = r.hear
	return r
}

func (r *Rules) hear(d predict.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.matched[d.Said] = true
	if !r.explain || d.Outcome == predict.Matched {
		return
	}
	// An object may be looked at more than once; the last look counts.
	r.decisions = slices.DeleteFunc(r.decisions, func(old predict.Decision) bool {
		return old.Said == d.Said && old.Choice == d.Choice && old.Ref == d.Ref && old.Path.Equal(d.Path)
	})
	r.decisions = append(r.decisions, d)
}

// Watch warns of the rules that matched nothing in a run which did all its work; end is how
// it ended, and is returned.
func (r *Rules) Watch(p *plan.Plan, emit func(event.Event), end error) error {
	if r == nil || end != nil {
		return end
	}
	var items []plan.Item
	for _, ph := range p.Phases {
		items = append(items, ph.Items...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, miss := range r.predictor.Idle(items, func(said string) bool { return r.matched[said] }) {
		emit(event.Warned{Text: miss.Text})
	}
	return nil
}

// Explain says which choice decided which path, an object after the other.
func (r *Rules) Explain(w io.Writer) {
	if r == nil || !r.explain {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.decisions) == 0 {
		fmt.Fprintln(w, "rules: none decided anything")
	}
	slices.SortStableFunc(r.decisions, func(a, b predict.Decision) int {
		if order := strings.Compare(a.Ref.String(), b.Ref.String()); order != 0 {
			return order
		}
		return a.Path.Compare(b.Path)
	})
	for _, d := range r.decisions {
		fmt.Fprintln(w, layout.Plain(fmt.Sprintf("rules: %s: %s %s by %s", d.Ref, d.Path, d.Outcome, by(d))))
	}
}

// by is what decided, as a person can find it.
func by(d predict.Decision) string {
	switch {
	case d.Said == "":
		return "the built-in table"
	case strings.Contains(d.Choice, d.Said):
		return d.Choice
	}
	return d.Said + " (" + d.Choice + ")"
}
