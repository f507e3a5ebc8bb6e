package predict

import (
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Miss is a choice that has no effect, most likely because of a typo.
type Miss struct {
	// Ref is zero if the choice is not limited to one object.
	Ref  object.Ref
	Text string
}

// PositionError says that a choice names a list item by its position.
type PositionError struct {
	Source string
	Path   fieldpath.Path
	// Key is the path with the item's key; nil if the item does not exist.
	Key fieldpath.Path
}

func (e *PositionError) Error() string {
	return fmt.Sprintf("%s: %s: list items are identified by key, not by position", e.Source, e.Path)
}

func (e *PositionError) Hint() string {
	if e.Key == nil {
		return `such as .spec.template.spec.containers[name="app"].image`
	}
	return "did you mean " + e.Key.String() + "?"
}

// message is a choice with its source (by), which is empty for the built-in table.
type message struct {
	Choice
	by string
}

func (s message) text() string {
	switch {
	case s.by == "":
		return ""
	case s.by == YieldAnnotation:
		return "annotation " + s.by + ": " + s.String()
	case s.From != "":
		return s.String()
	case s.by == byAdoption:
		return s.by + "=" + s.Manager
	}
	return s.by + "=" + s.String()
}

func (p Predictor) message(item plan.Item) []message {
	var all []message
	for _, c := range p.Take {
		all = append(all, message{c, "--take"})
	}
	for _, c := range p.Yield {
		all = append(all, message{c, "--yield"})
	}
	all = slices.DeleteFunc(all, func(s message) bool { return len(s.Path) == 0 || !s.Names(item.Ref, item.Kind) })
	annotated, err := yieldedBy(item.Object.GetAnnotations()[YieldAnnotation])
	if err != nil {
		return all // Check reports an invalid annotation.
	}
	for _, c := range annotated {
		if len(c.Path) > 0 {
			all = append(all, message{c, YieldAnnotation})
		}
	}
	return all
}

// Misses returns the choices whose path no item sets. It sends no requests.
func (p Predictor) Misses(items []plan.Item) []Miss {
	var misses []Miss
	hit, open := map[string]bool{}, map[string]message{}
	near := map[string]fieldpath.Path{}
	for _, item := range items {
		for _, s := range p.message(item) {
			body := WithoutStringData(item.Object).Object
			if s.isDeclared(body) {
				hit[s.text()] = true
				continue
			}
			intended, _ := s.nearest(fieldpath.ManifestPaths(body))
			if s.by == YieldAnnotation {
				misses = append(misses, Miss{item.Ref, s.undeclared("the object does not set it", intended)})
				continue
			}
			open[s.text()] = s
			if intended != nil {
				near[s.text()] = intended
			}
		}
	}
	for _, c := range slices.Concat(ordered("--take", p.Take), ordered("--yield", p.Yield)) {
		if s, missed := open[c]; missed && !hit[c] {
			misses = append(misses, Miss{Text: s.undeclared("no object in the input sets it", near[c])})
			delete(open, c)
		}
	}
	return misses
}

func (s message) isDeclared(body map[string]any) bool {
	if path, exact := s.Path.Path(); exact {
		_, declared := path.Get(body)
		return declared
	}
	return len(s.Path.In(body)) > 0
}

func (s message) nearest(candidates []fieldpath.Path) (fieldpath.Path, bool) {
	path, exact := s.Path.Path()
	if !exact {
		return nil, false
	}
	return path.Nearest(candidates)
}

func ordered(flag string, choices []Choice) []string {
	texts := make([]string, len(choices))
	for i, c := range choices {
		texts[i] = message{c, flag}.text()
	}
	return texts
}

func (s message) undeclared(why string, intended fieldpath.Path) string {
	text := s.text() + " has no effect: " + why
	if intended != nil {
		text += "; did you mean " + intended.String() + "?"
	}
	return text
}

// NearMisses returns the choices that seem intended for a conflict of the object but do not match
// it. For example, the path of a conflict may contain a key field that the manifest omits and the
// server added as a default.
func (p Predictor) NearMisses(in *Prediction) []Miss {
	paths := make([]fieldpath.Path, len(in.Conflicts))
	for i, c := range in.Conflicts {
		paths[i] = c.Path
	}
	var misses []Miss
	for _, s := range p.message(in.Item) {
		if slices.ContainsFunc(slices.Concat(in.Conflicts, in.Taken), func(c managedfields.Conflict) bool { return s.Path.Covers(c.Path) }) ||
			slices.ContainsFunc(in.Yielded, s.Path.Covers) {
			continue
		}
		text := s.text() + " does not match "
		isInside := func(p fieldpath.Path) bool { return len(s.Path) >= len(p) && s.Path[:len(p)].Matches(p) }
		if i := slices.IndexFunc(paths, isInside); i >= 0 {
			misses = append(misses, Miss{in.Item.Ref, text + paths[i].String() + ", which is one value and can only be chosen as a whole"})
		} else if s.Kind == "" && s.by != YieldAnnotation {
			continue // The choice may be for another object.
		} else if intended, ok := s.nearest(paths); ok {
			misses = append(misses, Miss{in.Item.Ref, text + "any contested path; did you mean " + intended.String() + "?"})
		}
	}
	return misses
}

func (p Predictor) checkPositions(item plan.Item) error {
	for _, s := range p.message(item) {
		if path := fieldpath.Path(s.Path); path.Positional() {
			key, _ := path.ByKey(item.Object.Object)
			by := s.by
			if by == YieldAnnotation {
				by = item.Source.String() + ": " + item.String() + ": annotation " + by
			}
			return &PositionError{Source: by, Path: path, Key: key}
		}
	}
	return nil
}
