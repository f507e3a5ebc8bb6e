package table

import (
	"context"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// diffNames writes the names of objects that would change.
type diffNames struct {
	output.Base
	names   output.PlanOrdered[string]
	unknown output.PlanOrdered[event.Compared]
}

// NewDiffNames returns the names of objects that would change.
func NewDiffNames(b output.Base) output.Results { return &diffNames{Base: b} }

func (n *diffNames) Handle(e event.Event) {
	compared, ok := e.(event.Compared)
	if !ok {
		return
	}
	switch compared.Action { //nolint:exhaustive // these would change
	case event.Create, event.Update, event.Recreate, event.Share, event.Delete:
		n.names.Add(n.State.Place(compared.Ref), text.Printable(compared.Ref.Resource())+"\n")
	case event.Unknown:
		n.unknown.Add(n.State.Place(compared.Ref), compared)
	}
}

func (n *diffNames) Flush() {
	n.Screen.Result(strings.Join(n.names.Drain(), ""))
	for _, c := range n.unknown.Drain() {
		text := append([]string{string(c.Action) + "  " + format.Name(c.Ref)}, remarks(n.Base, c)...)
		n.Screen.Note(strings.Join(text, "\n    ") + "\n")
	}
}

func (n *diffNames) Finish(context.Context) error {
	n.Screen.Note(diffSummary(n.State) + "\n")
	return nil
}
