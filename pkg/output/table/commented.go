package table

import (
	"context"
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// ownersYAML writes objects as YAML documents with owners and history as comments.
type ownersYAML struct {
	output.Base
	texts []string
}

// NewCommented returns the objects of owners as YAML with comments.
func NewCommented(b output.Base) output.Results { return &ownersYAML{Base: b} }

func (y *ownersYAML) Handle(e event.Event) {
	o, ok := e.(event.Owned)
	if !ok {
		return
	}
	var b strings.Builder
	comment := func(lines ...string) {
		for _, line := range lines {
			b.WriteString("# " + line + "\n")
		}
	}
	version := o.Ref.GVK.GroupVersion().String()
	comment(format.Name(o.Ref))
	comment(ownedRemarks(o)...)
	for _, line := range (fieldTree{}).lines(o.Fields) {
		b.WriteString(y.commented(line, version) + "\n")
	}
	for _, n := range o.Absent {
		comment(fmt.Sprintf("owned, but not there: %s  %s", text.Printable(n.Path.String()), format.OwnerList(atVersions(n.Owners, version), y.Now())))
	}
	if o.History != nil {
		plain := &ownersTable{Base: output.Base{Options: output.Options{Now: y.Now}, Paint: output.NewPalette(false)}}
		comment(format.Lines(plain.history(*o.History))...)
	}
	y.texts = append(y.texts, b.String())
}

// commented returns a line with its owners behind it.
func (y *ownersYAML) commented(line yamlLine, version string) string {
	switch {
	case line.part, line.unownable:
		return line.text
	case len(line.owners) == 0:
		return line.text + "  # " + noOwner
	default:
		return line.text + "  # " + format.OwnerList(atVersions(line.owners, version), y.Now())
	}
}

func (y *ownersYAML) Flush() {}

func (y *ownersYAML) Finish(context.Context) error {
	y.Screen.Result(strings.Join(y.texts, "---\n"))
	return nil
}
