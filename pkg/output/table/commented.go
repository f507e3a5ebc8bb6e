package table

import (
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NewCommented returns the objects of the verb owners as YAML documents, with owners and history as
// comments.
func NewCommented(b output.Base) output.Results {
	return output.Together(func(objects []event.Owned) error {
		texts := make([]string, len(objects))
		for i, o := range objects {
			texts[i] = commentedYAML(o, b.Now)
		}
		b.Screen.Result(strings.Join(texts, "---\n"))
		return nil
	})
}

func commentedYAML(o event.Owned, now func() time.Time) string {
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
		b.WriteString(commented(line, version, now()) + "\n")
	}
	for _, n := range o.Absent {
		comment(fmt.Sprintf("owned, but not there: %s  %s", text.Printable(n.Path.String()), format.OwnerList(atVersions(n.Owners, version), now())))
	}
	if o.History != nil {
		plain := &ownersTable{Base: output.Base{Options: output.Options{Now: now}, Paint: output.NewPalette(false)}}
		comment(format.Lines(plain.history(*o.History))...)
	}
	return b.String()
}

func commented(line yamlLine, version string, now time.Time) string {
	switch {
	case line.part, line.unownable:
		return line.text
	case len(line.owners) == 0:
		return line.text + "  # " + noOwner
	default:
		return line.text + "  # " + format.OwnerList(atVersions(line.owners, version), now)
	}
}
