package predict

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Standing contains the choices that apply to many runs, such as those in the config file. Flags
// and the object's own annotation take precedence. But only a --take flag for exactly the same path
// overrides a standing yield. Any yield overrides a standing take.
type Standing struct {
	Take, Yield []Choice
}

// Outcome is the effect of a choice on a path.
type Outcome string

const (
	// Yielded means that the path is left to its owners.
	Yielded Outcome = "yielded"
	// Taking means that the path becomes ours.
	Taking Outcome = "taken"
	// Left means that the built-in table leaves the value to a component in the cluster.
	Left Outcome = "left"
	// Overruled means that a choice of higher precedence took the path.
	Overruled Outcome = "overruled"
	// Matched means that the choice matches the object, but decides none of its paths.
	Matched Outcome = "matched"
)

// Decision describes the effect of a choice on a path of an object. Path is nil if Outcome is
// [Matched].
type Decision struct {
	Ref     object.Ref
	Path    fieldpath.Path
	Outcome Outcome
	// Choice is the choice as the user wrote it. Source is the place where the choice was made: a
	// flag such as "--take", the annotation, or a place in a file. Both are empty for the built-in
	// table.
	Choice, Source string
}

func (p Predictor) report(item plan.Item, path fieldpath.Path, outcome Outcome, by message) {
	if p.OnDecision != nil {
		p.OnDecision(Decision{Ref: item.Ref, Path: path, Outcome: outcome, Choice: by.text(), Source: by.by})
	}
}

// yields returns the paths that the choices leave to their owners. Flags take precedence over the
// annotation, and the annotation over standing choices.
func (p Predictor) yields(item plan.Item, live *unstructured.Unstructured, adopted []managedfields.Owner) ([]fieldpath.Path, error) {
	annotated, err := yieldedBy(item.Object.GetAnnotations()[YieldAnnotation])
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", item.Source, item.Ref, err)
	}
	if len(annotated)+len(p.Yield)+len(p.Standing.Yield)+len(p.Standing.Take) == 0 {
		return nil, nil
	}
	held, err := p.heldBy(item, live, adopted)
	if err != nil {
		return nil, err
	}
	var paths []fieldpath.Path
	decide := func(s message, isWeak bool) {
		for _, path := range held.paths(s.Choice) {
			switch taker, taken := p.takerByName(p.Take, item, path, held.owners(path)); {
			case isWeak && taken:
				p.report(item, path, Overruled, s)
				p.report(item, path, Taking, message{taker, "--take"})
			default:
				p.report(item, path, Yielded, s)
				paths = append(paths, path)
			}
		}
	}
	for _, c := range p.Yield {
		if c.Names(item.Ref, item.Kind) {
			decide(message{c, "--yield"}, false)
		}
	}
	for _, c := range annotated {
		decide(message{c, YieldAnnotation}, true)
	}
	for _, c := range p.Standing.Yield {
		if c.Names(item.Ref, item.Kind) {
			decide(message{c, c.From}, true)
		}
	}
	if p.OnDecision == nil {
		return paths, nil
	}
	for _, c := range slices.Concat(p.Standing.Take, p.Standing.Yield) {
		if c.namesManager() && c.Names(item.Ref, item.Kind) && len(held.paths(c)) > 0 {
			p.report(item, nil, Matched, message{c, c.From})
		}
	}
	return paths, nil
}

// Leaves reports whether a choice leaves a path that the manifest does not set to these owners.
func (p Predictor) Leaves(item plan.Item, path fieldpath.Path, owners []managedfields.Owner) bool {
	annotated, _ := yieldedBy(item.Object.GetAnnotations()[YieldAnnotation]) // Check reports the error.
	return slices.ContainsFunc(slices.Concat(p.Yield, annotated, p.Standing.Yield), func(c Choice) bool {
		return c.Names(item.Ref, item.Kind) && c.Path.Covers(path) && c.meansAll(owners)
	})
}

func (p Predictor) flagsWithManager() []message {
	var all []message
	for flag, choices := range map[string][]Choice{"--take": p.Take, "--yield": p.Yield} {
		for _, c := range choices {
			if c.namesManager() {
				all = append(all, message{c, flag})
			}
		}
	}
	for _, manager := range p.AdoptFrom.Always {
		if !slices.Contains(p.AdoptFrom.Once, manager) {
			all = append(all, message{Choice{Manager: manager}, byAdoption})
		}
	}
	slices.SortFunc(all, func(a, b message) int { return strings.Compare(a.text(), b.text()) })
	return all
}

const byAdoption = "--adopt-from"

// NamesManagers reports whether a flag of this run names a manager. A misspelt manager can be
// detected only from the live objects.
func (p Predictor) NamesManagers() bool { return len(p.flagsWithManager()) > 0 }

func (p Predictor) reportManagers(item plan.Item, live *unstructured.Unstructured) {
	if p.OnDecision == nil || live == nil {
		return
	}
	for _, s := range p.flagsWithManager() {
		if slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return text.Glob(s.Manager, e.Manager) }) {
			p.OnDecision(Decision{Ref: item.Ref, Outcome: Matched, Choice: s.text(), Source: s.text()})
		}
	}
}

func (c Choice) namesManager() bool { return c.Manager != "" && c.Manager != AnyManager }

// Extent is how much a run has read. A run that has read only the manifests does not know which
// fields a manager owns.
type Extent int

const (
	// OfInput means that the run has read only the manifests.
	OfInput Extent = iota
	// OfObjects means that the run has also read every live object.
	OfObjects
)

// Idle returns the standing choices that have no effect in a run, and the flags whose manager owns
// no field of any object. A choice has no effect if it names no object of the run, if none of the
// objects that it names has its path, or if its manager owns none of their fields.
//
// A choice is not idle if it names one of the objects of which only the names are known (beside).
// matched reports whether a choice from the given place matched or decided anything.
func (p Predictor) Idle(items, beside []plan.Item, read Extent, matched func(from string) bool) []Miss {
	var idle []Miss
	group := func(verb string, choices []Choice) {
		for at := 0; at < len(choices); {
			next := at + 1 // All choices of one rule in the config file have the same From.
			for next < len(choices) && choices[next].From == choices[at].From {
				next++
			}
			why, known := idleRule(choices[at:next], items)
			if why != "" && (known || read == OfObjects) && !matched(choices[at].From) && !namesAny(choices[at:next], beside) {
				idle = append(idle, Miss{Text: fmt.Sprintf("%s: the rule to %s %s matched nothing: %s", choices[at].From, verb, choices[at], why)})
			}
			at = next
		}
	}
	group("yield", p.Standing.Yield)
	group("take", p.Standing.Take)
	for _, s := range p.flagsWithManager() {
		if read == OfObjects && !matched(s.text()) {
			idle = append(idle, Miss{Text: s.text() + " has no effect: no object has fields of " + s.Manager})
		}
	}
	return idle
}

func namesAny(choices []Choice, items []plan.Item) bool {
	return slices.ContainsFunc(choices, func(c Choice) bool {
		return slices.ContainsFunc(items, func(item plan.Item) bool { return c.Names(item.Ref, item.Kind) })
	})
}

// idleRule returns the reason why the choices of a rule have no effect on the items, or "" if there
// is none. If known is false, only the live objects can confirm the reason.
func idleRule(rule []Choice, items []plan.Item) (why string, known bool) {
	why = "it names no object in the input"
	for _, c := range rule {
		for _, item := range items {
			switch {
			case !c.Names(item.Ref, item.Kind):
			case len(c.Path) > 0 && len(c.Path.In(item.Object.Object)) == 0:
				why = "no object in the input sets the path"
			case c.namesManager():
				return "the manager owns nothing that the input sets", false
			default:
				return "", true
			}
		}
	}
	return why, true
}

// AnyManager is the Manager of a choice that matches every manager but ours.
const AnyManager = "*"

type holdings struct {
	us             string
	live, declared map[string]any
	others         []managedfields.Entry
	all            []*fieldpath.Set
}

func (p Predictor) heldBy(item plan.Item, live *unstructured.Unstructured, adopted []managedfields.Owner) (holdings, error) {
	h := holdings{us: p.Manager, declared: item.Object.Object}
	if live == nil {
		return h, nil
	}
	h.live = live.Object
	entries, err := managedfields.Entries(live)
	if err != nil {
		return h, err
	}
	for _, e := range entries {
		h.all = append(h.all, e.Fields)
	}
	h.others = slices.DeleteFunc(managedfields.Others(entries, p.Manager), func(e managedfields.Entry) bool {
		return slices.Contains(adopted, e.Owner)
	})
	return h, nil
}

func (h holdings) owners(path fieldpath.Path) []managedfields.Owner {
	owners, _ := managedfields.Owners(h.others, path) // Owners fails only for list positions, which Check refuses.
	return owners
}

// paths returns the paths that a choice matches. A choice that names no manager matches its exact
// path even if the manifest does not set it. A choice that names a manager matches the fields that
// the manager owns and the manifest sets. It matches neither parents, because they may contain
// fields of other managers, nor the keys of list items.
func (h holdings) paths(c Choice) []fieldpath.Path {
	if c.Manager == "" {
		if path, exact := c.Path.Path(); exact {
			return []fieldpath.Path{path}
		}
		return c.Path.In(h.declared, h.all...)
	}
	found := fieldpath.NewSet()
	for _, e := range h.others {
		// Our own entries are excluded, whether created by Apply or by Update.
		if c.Manager == AnyManager && e.Manager == h.us || c.Manager != AnyManager && !text.Glob(c.Manager, e.Manager) {
			continue
		}
		fieldpath.Each(e.Fields, func(path fieldpath.Path) {
			if c.Path.Covers(path) && h.isValue(path) {
				fieldpath.Insert(found, path.Clone())
			}
		})
	}
	var out []fieldpath.Path
	fieldpath.Each(found, func(path fieldpath.Path) { out = append(out, path.Clone()) })
	return out
}

func (h holdings) isValue(path fieldpath.Path) bool {
	if fieldpath.IsIdentity(path) || fieldpath.IsKeyField(path) {
		return false
	}
	if _, declared := path.Get(h.declared); !declared {
		return false
	}
	sets := h.all
	for _, pe := range path {
		sets = fieldpath.BelowEach(sets, pe)
	}
	if len(sets) > 0 {
		return false
	}
	value, live := path.Get(h.live)
	if !live || fieldpath.IsContainer(value) && fieldpath.IsEmpty(value) {
		return false
	}
	return path[len(path)-1].Key == nil
}
