package table

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// NewReleases returns the table of releases: each release, and below it what its next upgrade meets.
func NewReleases(b output.Base) output.Results {
	return output.Printed(b, func(f event.Releases) string { return releases(b, f) })
}

func releases(base output.Base, f event.Releases) string {
	var b strings.Builder
	heads := make([][]string, len(f.Found))
	for i, r := range f.Found {
		heads[i] = format.ReleaseHead(r)
	}
	aligned := strings.Split(format.Aligned(heads, base.Width), "\n")
	whole := len(aligned) == len(heads)+1 // Otherwise the columns do not fit side by side.
	change := func(c managedfields.Conflict) string { return strings.Join(fromTo(c.Change(), 0), " ") }
	for i, r := range f.Found {
		head := strings.Join(heads[i], "  ")
		if whole {
			head = aligned[i]
		}
		b.WriteString(format.Fit("", head, base.Width) + "\n")
		format.Below(&b, format.ReleaseLines(r, base.Now(), change), "    ", base.Width)
	}
	b.WriteString(format.Fit("", format.Releases(f), base.Width) + "\n")
	return b.String()
}
