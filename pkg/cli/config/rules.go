package config

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// Rules hear what choices decide in a run. A nil *Rules hears nothing.
type Rules struct {
	predictor predict.Predictor
	explain   bool

	mu sync.Mutex
	// looked: the run came to its objects, so that there was something to decide.
	looked bool
	// matched are the places of rules that spoke of something.
	matched   map[string]bool
	decisions map[decided]predict.Decision
}

// decided is what a decision is about. An object may be looked at more than once; the last
// look counts.
type decided struct {
	ref                object.Ref
	path, choice, said string
}

// Ruled gives a predictor the rules of the file. Decisions are recorded only if there are any rules, or
// if they are to be explained.
func Ruled(s *Settings, explain bool, predictor *predict.Predictor) *Rules {
	predictor.Standing = s.Rules
	if len(s.Rules.Take)+len(s.Rules.Yield) == 0 && !explain {
		return nil
	}
	r := &Rules{explain: explain, matched: map[string]bool{}, decisions: map[decided]predict.Decision{}}
	r.predictor = *predictor
	predictor.OnDecision = r.hear
	return r
}

func (r *Rules) hear(d predict.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.matched[d.Said] = true
	if !r.explain || d.Outcome == predict.Matched {
		return
	}
	r.decisions[decided{d.Ref, d.Path.String(), d.Choice, d.Said}] = d
}

// Watch tells what decided about which path, if that is to be explained, and warns of the rules
// that matched nothing; beside are objects of the input that the run leaves out, of which a rule
// may speak as well. end is how the run ended, and is returned. A run that ends in conflicts or
// differences wants the warning most: a slip in a rule may be the cause. A run that was cut off
// reports nothing, and where an object was not read, rules that depend on its owners are not
// reported.
func (r *Rules) Watch(p *plan.Plan, beside func() []plan.Item, emit func(event.Event), end error) error {
	if r == nil {
		return end
	}
	r.report(emit)
	if end != nil && !verb.IsResult(end) {
		return end
	}
	var items []plan.Item
	for _, ph := range p.Phases {
		items = append(items, ph.Items...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = true
	var left []plan.Item
	if len(r.predictor.Standing.Take)+len(r.predictor.Standing.Yield) > 0 {
		left = beside()
	}
	read := predict.OfInput
	if verb.Looked(end) {
		read = predict.OfObjects
	}
	for _, miss := range r.predictor.Idle(items, left, read, func(said string) bool { return r.matched[said] }) {
		emit(event.Warned{Text: miss.Text})
	}
	return end
}

// report tells what decided, an object after the other.
func (r *Rules) report(emit func(event.Event)) {
	r.mu.Lock()
	sorted := r.sorted()
	r.mu.Unlock()
	for len(sorted) > 0 {
		told := event.Decided{Ref: sorted[0].Ref}
		for len(sorted) > 0 && sorted[0].Ref == told.Ref {
			d := sorted[0]
			told.Decisions = append(told.Decisions, event.Decision{Path: d.Path, Outcome: string(d.Outcome), By: d.Said, Choice: asWritten(d)})
			sorted = sorted[1:]
		}
		emit(told)
	}
}

// asWritten is the choice that decided, without what it was said with.
func asWritten(d predict.Decision) string {
	choice := strings.TrimPrefix(d.Choice, "annotation "+d.Said+": ")
	return strings.TrimPrefix(choice, d.Said+"=")
}

// sorted are the decisions by objects and their paths.
func (r *Rules) sorted() []predict.Decision {
	return slices.SortedFunc(maps.Values(r.decisions), func(a, b predict.Decision) int {
		return cmp.Or(strings.Compare(a.Ref.String(), b.Ref.String()), a.Ref.Compare(b.Ref), a.Path.Compare(b.Path),
			strings.Compare(a.Said, b.Said), strings.Compare(a.Choice, b.Choice))
	})
}

// Explain says which choice decided which path, an object after the other. A run that ended before
// its objects reports nothing.
func (r *Rules) Explain(w io.Writer) {
	if r == nil || !r.explain {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.decisions) == 0 && r.looked && len(r.predictor.Standing.Take)+len(r.predictor.Standing.Yield) > 0 {
		fmt.Fprintln(w, "rules: none decided anything")
	}
	width, _ := verb.Terminal(w)
	for _, d := range r.sorted() {
		fmt.Fprintln(w, format.Fit("rules: ", fmt.Sprintf("%s: %s %s by %s", d.Ref, d.Path, d.Outcome, by(d)), width))
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
