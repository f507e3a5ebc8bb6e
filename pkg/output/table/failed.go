package table

import (
	"errors"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// sameFault groups objects that failed for the same reason.
func sameFault[T any](failed []T, why func(T) error) [][]T {
	return format.Grouped(failed, func(one T) string { return strings.Join(format.Explain(why(one)), "\n") })
}

// commonFault returns the error to print for n objects that share it. An error may have its own
// form for several objects.
func commonFault(err error, n int) error {
	if common, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](err); ok {
		return common.Of(n)
	}
	return err
}

// skipped prints objects that were skipped or kept: each on a line, or only their number if many
// share a reason. Both kinds of lines end with the reason.
type skipped[T any] struct {
	why  func(T) error
	one  func(of T, reason string)
	many func(count, reason string)
}

func (s skipped[T]) print(b output.Base, all []T) {
	for _, group := range sameFault(all, s.why) {
		why := strings.Join(b.Hints.ErrorLines(s.why(group[0]), format.Columns(b.Width)), "; ")
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
