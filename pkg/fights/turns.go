package fights

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// turns returns the changes of a path that the log has: of its owner, of its value, or of both.
func (w *watched) turns(path fieldpath.Path) []event.Transition {
	var out []event.Transition
	for i := range w.log {
		if turn, ok := w.log[i].turn(path); ok {
			if redact.IsSecret(w.ref) || managedfields.IsLastApplied(path) {
				turn.FromValue, turn.ToValue = "", ""
			}
			out = append(out, turn)
		}
	}
	return out
}

func (w *write) turn(path fieldpath.Path) (event.Transition, bool) {
	turn := event.Transition{Path: path.String(), Kind: "changed", Count: 1, First: w.at.UTC(), Last: w.at.UTC()}
	found := false
	for _, s := range w.steps {
		if !s.path.Equal(path) {
			continue
		}
		found = true
		if s.by != nil {
			turn.From, turn.To = owners(handOf(*s.by)), owners(handOf(*s.by))
		}
		if s.from != nil && s.to != nil {
			turn.FromValue, turn.ToValue = textOf(s.from), textOf(s.to)
		}
	}
	for _, m := range w.moves {
		if !m.path.Equal(path) {
			continue
		}
		found = true
		turn.From, turn.To = owners(m.from), owners(m.to)
		switch {
		case len(turn.From) == 0:
			turn.Kind = "set"
		case len(turn.To) == 0:
			turn.Kind = "removed"
		default:
			turn.Kind = "taken"
		}
	}
	return turn, found
}

func owners(h hand) []managedfields.Owner {
	if h == (hand{}) {
		return nil
	}
	return []managedfields.Owner{*h.owner()}
}
