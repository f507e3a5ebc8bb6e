package document

import (
	"cmp"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

type byObject[T any] map[object.Key][]T

// take returns and removes the reports about one object.
func (m byObject[T]) take(key object.Key) []T {
	list := m[key]
	delete(m, key)
	return list
}

func addWarning(to byObject[string], e event.Warned) {
	text := e.String()
	if e.Ref != (object.Ref{}) {
		text = e.Ref.String() + ": " + text
	}
	if key := e.Ref.Key(); !slices.Contains(to[key], text) {
		to[key] = append(to[key], text)
	}
}

func remarkTexts(entries []event.Remarked) []string {
	var said []string
	for _, r := range entries {
		line := r.Code + ": "
		if r.Path != "" {
			line += r.Path + ": "
		}
		if line += r.Text; r.Hint != "" {
			line += " (" + r.Hint + ")"
		}
		said = append(said, line)
	}
	return said
}

// allWarnings returns the warnings that no result has taken: those about the whole run, and about
// objects without a result.
func allWarnings(from byObject[string]) []string {
	var texts []string
	for _, list := range from {
		texts = append(texts, list...)
	}
	slices.Sort(texts)
	return texts
}

type decidedEntry struct {
	Path    string `json:"path"`
	Outcome string `json:"outcome"`
	By      string `json:"by"`
	Choice  string `json:"choice,omitempty"`
}

// builtIn is the source of decisions that no choice of the user explains.
const builtIn = "built-in"

func decidedOf(e event.Decided) []decidedEntry {
	list := make([]decidedEntry, len(e.Decisions))
	for i, d := range e.Decisions {
		list[i] = decidedEntry{Path: d.Path.String(), Outcome: d.Outcome, By: cmp.Or(d.By, builtIn), Choice: d.Choice}
	}
	return list
}
