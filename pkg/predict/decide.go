package predict

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Standing are choices that hold for many runs, such as those of a file. They are weaker than
// what this run was told, and than what an object says of itself: a yield gives way to a Take
// of that very path, and a take to every yield.
type Standing struct {
	Take, Yield []Choice
}

// Outcome is what became of a path by a choice.
type Outcome string

// Outcomes.
const (
	// Yielded paths are left to their owners, Taken ones become ours.
	Yielded Outcome = "yielded"
	Taking  Outcome = "taken"
	// Left is a value that something in the cluster is meant to set: the built-in table.
	Left Outcome = "left"
	// Overruled: a stronger choice took the path.
	Overruled Outcome = "overruled"
	// Matched: the choice speaks of paths that this object has, and decided none of them.
	Matched Outcome = "matched"
)

// Decision says which choice decided a path of an object.
type Decision struct {
	Ref     object.Ref
	Path    fieldpath.Path
	Outcome Outcome
	// Choice is the one that decided, as it is written, and Said what it was said with:
	// "--take", the annotation, or where it stands in a file; empty for the table.
	Choice, Said string
}

// report tells a decision, if anybody wants to know.
func (p Predictor) report(item plan.Item, path fieldpath.Path, outcome Outcome, by said) {
	if p.OnDecision != nil {
		p.OnDecision(Decision{Ref: item.Ref, Path: path, Outcome: outcome, Choice: by.text(), Said: by.by})
	}
}

// yields returns the paths of the item that flags, its annotation and what is standing
// yield, the strongest first. Live is nil where there is no object; then nothing of it is
// held, and adopted are owners who hold nothing any more.
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
	decide := func(s said, isWeak bool) {
		for _, path := range held.paths(s.Choice) {
			switch taker, taken := p.takerByName(p.Take, item, path, held.owners(path)); {
			case isWeak && taken:
				p.report(item, path, Overruled, s)
				p.report(item, path, Taking, said{taker, "--take"})
			default:
				p.report(item, path, Yielded, s)
				paths = append(paths, path)
			}
		}
	}
	for _, c := range p.Yield {
		if c.Names(item.Ref, item.Kind) {
			decide(said{c, "--yield"}, false)
		}
	}
	for _, c := range annotated {
		decide(said{c, YieldAnnotation}, true)
	}
	for _, c := range p.Standing.Yield {
		if c.Names(item.Ref, item.Kind) {
			decide(said{c, c.From}, true)
		}
	}
	if p.OnDecision != nil {
		p.reportMatched(item, held)
	}
	return paths, nil
}

// reportMatched tells which standing choices speak of what owners of theirs hold of the item.
func (p Predictor) reportMatched(item plan.Item, held holdings) {
	for _, c := range slices.Concat(p.Standing.Take, p.Standing.Yield) {
		if c.namesManager() && c.Names(item.Ref, item.Kind) && len(held.paths(c)) > 0 {
			p.report(item, nil, Matched, said{c, c.From})
		}
	}
}

// namesManager reports whether the choice depends on who is an owner.
func (c Choice) namesManager() bool { return c.Manager != "" && c.Manager != AnyManager }

// Extent is how much of a set a run has read. A manager's fields are known only from the objects.
type Extent int

// A run has read the input, and perhaps every live object.
const (
	OfInput Extent = iota
	OfObjects
)

// Idle returns the standing choices that speak of nothing in a run: of no object, of no path that
// those state, or of a manager that holds none of what they state. Only the names of what is beside
// the items are known: a choice that names such an object is not idle. matched reports whether a
// choice that is written there was told of as one that matched or decided.
func (p Predictor) Idle(items, beside []plan.Item, read Extent, matched func(from string) bool) []Miss {
	var idle []Miss
	group := func(verb string, choices []Choice) {
		for at := 0; at < len(choices); {
			next := at + 1 // The choices of one rule are written at one place.
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
	return idle
}

// namesAny reports whether one of the choices names one of the objects.
func namesAny(choices []Choice, items []plan.Item) bool {
	return slices.ContainsFunc(choices, func(c Choice) bool {
		return slices.ContainsFunc(items, func(item plan.Item) bool { return c.Names(item.Ref, item.Kind) })
	})
}

// idleRule says why the choices of a rule have nothing to speak of, empty if they have, and
// whether that is known from the input alone.
func idleRule(rule []Choice, items []plan.Item) (why string, known bool) {
	why = "no object of the input is meant"
	for _, c := range rule {
		for _, item := range items {
			switch {
			case !c.Names(item.Ref, item.Kind):
			case len(c.Path) > 0 && len(c.Path.In(item.Object.Object)) == 0:
				why = "no object of the input states the path"
			case c.namesManager():
				return "the manager holds nothing that the input states", false
			default:
				return "", true
			}
		}
	}
	return why, true
}

// AnyManager is the manager of a choice that means what any other manager holds.
const AnyManager = "*"

// holdings are what others hold of an object, and what its manifest states.
type holdings struct {
	us           string
	live, stated map[string]any
	// others are those who hold something, all are the sets of everybody.
	others []managedfields.Entry
	all    []*fieldpath.Set
}

func (p Predictor) heldBy(item plan.Item, live *unstructured.Unstructured, adopted []managedfields.Owner) (holdings, error) {
	h := holdings{us: p.Manager, stated: item.Object.Object}
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

// owners returns the others who hold a path.
func (h holdings) owners(path fieldpath.Path) []managedfields.Owner {
	owners, _ := managedfields.Owners(h.others, path) // Check refuses paths by position.
	return owners
}

// paths returns the paths that a choice means. One without a manager means what it names,
// whether the manifest states it or not, but for what it leaves open. One with a manager
// means what such an owner holds and the manifest states: never a parent of it, in which
// others may have something, nor what a list item is known by.
func (h holdings) paths(c Choice) []fieldpath.Path {
	if c.Manager == "" {
		if path, exact := c.Path.Path(); exact {
			return []fieldpath.Path{path}
		}
		return c.Path.In(h.stated, h.all...)
	}
	found := fieldpath.NewSet()
	for _, e := range h.others {
		if !matchesManager(c.Manager, e.Manager, h.us) {
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

// matchesManager reports whether an owner is one that a choice names. Anybody is not
// ourselves by another operation.
func matchesManager(named, manager, us string) bool {
	if named == AnyManager {
		return manager != us
	}
	return Choice{Manager: named}.meansAll([]managedfields.Owner{{Manager: manager}})
}

// isValue reports whether a path that is held is that of a value which the manifest states,
// and not of a parent of values, an item's key, or the object's identity.
func (h holdings) isValue(path fieldpath.Path) bool {
	if fieldpath.IsIdentity(path) || fieldpath.IsKeyField(path) {
		return false
	}
	if _, stated := path.Get(h.stated); !stated {
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
