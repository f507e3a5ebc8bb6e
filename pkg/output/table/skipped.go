package table

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// skipped reports objects that were skipped: each one by itself, or all that many skipped
// for the same reason together, with their number. Both get the reason to end their line
// with.
type skipped[T any] struct {
	why  func(T) error
	one  func(of T, reason string)
	many func(count, reason string)
}

func (s skipped[T]) tell(b output.Base, all []T) {
	var reasons []string
	byReason := map[string][]T{}
	for _, of := range all {
		why := strings.Join(phrase.ErrorLines(s.why(of), layout.Columns(b.Width)), "; ")
		if _, known := byReason[why]; !known {
			reasons = append(reasons, why)
		}
		byReason[why] = append(byReason[why], of)
	}
	for _, why := range reasons {
		group := byReason[why]
		if why != "" {
			why = ": " + why
		}
		if len(group) > manySkipped && !b.Verbose {
			s.many(text.Count(len(group), "object"), why)
			continue
		}
		for _, of := range group {
			s.one(of, why)
		}
	}
}
