package table

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NewDeprecated returns the table of the "deprecated" verb: each object, and below it the places
// where it uses a deprecated API.
func NewDeprecated(b output.Base) output.Results {
	return output.Printed(b, func(d event.Deprecations) string { return deprecations(b, d) })
}

func deprecations(base output.Base, d event.Deprecations) string {
	var b strings.Builder
	const some = 20
	brief := base.Width != nil && !base.Verbose
	shown, goes := 0, true
	for i, u := range d.Uses {
		if goes && !u.Goes {
			shown, goes = 0, false
			b.WriteString(base.Paint.Bold.Sprint("deprecated, but still in "+d.Release) + "\n")
		}
		if shown++; brief && shown > some {
			if last := i == len(d.Uses)-1; last || d.Uses[i+1].Goes != goes {
				fmt.Fprintf(&b, "and %s; -v 1 shows all\n", text.Count(shown-some, "more use"))
			}
			continue
		}
		b.WriteString(format.Fit("", format.Name(u.Ref)+"  "+text.Printable(u.Text), base.Width) + "\n")
		format.Below(&b, format.DeprecatedPlaces(u, base.Now()), "    ", base.Width)
	}
	for _, s := range d.Stored {
		b.WriteString(format.DefinitionName(s.Definition) + "\n")
		for _, line := range s.Lines() { // Do not break a command.
			b.WriteString(format.Fit("    ", line, base.Width) + "\n")
		}
	}
	b.WriteString(format.Fit("", format.Deprecations(d, len(base.State.LeftOut)), base.Width) + "\n")
	if d.Hint != "" {
		b.WriteString(format.Fit("", d.Hint, base.Width) + "\n")
	}
	return b.String()
}
