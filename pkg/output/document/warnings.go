package document

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// warnings gathers what was warned of, each with the name of its object.
type warnings map[object.Key][]string

func (w warnings) add(e event.Warned) {
	text := e.Text
	if e.Ref != (object.Ref{}) {
		text = e.Ref.String() + ": " + text
	}
	if key := e.Ref.Key(); !slices.Contains(w[key], text) {
		w[key] = append(w[key], text)
	}
}

// of hands out the warnings of one object, once.
func (w warnings) of(ref object.Ref) []string {
	texts := w[ref.Key()]
	delete(w, ref.Key())
	return texts
}

// rest returns what no result was found for: warnings of the run as a whole, and
// of objects without a result.
func (w warnings) rest() []string {
	var texts []string
	for _, list := range w {
		texts = append(texts, list...)
	}
	slices.Sort(texts)
	return texts
}
