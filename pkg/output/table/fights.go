package table

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// NewFights returns the table of fights: each object, and below it the paths with their writers.
func NewFights(b output.Base) output.Results {
	return output.AtEnd(func(f event.Fights) error {
		b.Screen.Result(fights(b, f))
		return nil
	})
}

func fights(base output.Base, f event.Fights) string {
	var b strings.Builder
	heads := make([][]string, len(f.Found))
	for i, one := range f.Found {
		heads[i] = []string{format.FightName(one), format.FightRate(one, f.For)}
	}
	aligned := strings.Split(format.Aligned(heads, base.Width), "\n")
	whole := len(aligned) == len(heads)+1 // Otherwise the names do not fit beside the rates.
	for i, one := range f.Found {
		head := strings.Join(heads[i], "  ")
		if whole {
			head = aligned[i]
		}
		b.WriteString(format.Fit("", head, base.Width) + "\n")
		format.Below(&b, format.FightLines(one, base.Now()), "    ", base.Width)
	}
	for _, line := range format.Fights(f) {
		b.WriteString(format.Fit("", line, base.Width) + "\n")
	}
	return b.String()
}
