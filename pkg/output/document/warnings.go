package document

import (
	"cmp"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// warnings collects the warnings by object.
type warnings map[object.Key][]string

func (w warnings) add(e event.Warned) {
	text := e.String()
	if e.Ref != (object.Ref{}) {
		text = e.Ref.String() + ": " + text
	}
	if key := e.Ref.Key(); !slices.Contains(w[key], text) {
		w[key] = append(w[key], text)
	}
}

// remarkText returns a remark as one line.
func remarkText(r event.Remarked) string {
	said := r.Code + ": "
	if r.Path != "" {
		said += r.Path + ": "
	}
	if said += r.Text; r.Hint != "" {
		said += " (" + r.Hint + ")"
	}
	return said
}

// remarks collects the forecasts by object.
type remarks map[object.Key][]event.Remarked

// of returns the remarks of one object, once.
func (r remarks) of(ref object.Ref) []event.Remarked {
	entries := r[ref.Key()]
	delete(r, ref.Key())
	return entries
}

// remarkTexts returns remarks as lines of a report.
func remarkTexts(entries []event.Remarked) []string {
	var said []string
	for _, e := range entries {
		said = append(said, remarkText(e))
	}
	return said
}

// of returns the warnings of one object, once.
func (w warnings) of(ref object.Ref) []string {
	texts := w[ref.Key()]
	delete(w, ref.Key())
	return texts
}

// rest returns the warnings about the whole run, and about objects without a result.
func (w warnings) rest() []string {
	var texts []string
	for _, list := range w {
		texts = append(texts, list...)
	}
	slices.Sort(texts)
	return texts
}

// decidedEntry is a decision about one path in JSON.
type decidedEntry struct {
	Path    string `json:"path"`
	Outcome string `json:"outcome"`
	By      string `json:"by"`
	Choice  string `json:"choice,omitempty"`
}

// builtIn is the source of decisions without a choice of the user.
const builtIn = "built-in"

func decidedOf(e event.Decided) []decidedEntry {
	list := make([]decidedEntry, len(e.Decisions))
	for i, d := range e.Decisions {
		list[i] = decidedEntry{Path: d.Path.String(), Outcome: d.Outcome, By: cmp.Or(d.By, builtIn), Choice: d.Choice}
	}
	return list
}
