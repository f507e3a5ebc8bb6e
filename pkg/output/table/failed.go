package table

import (
	"errors"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// sameFault groups objects that failed for the same reason, in the order of the first of each.
func sameFault[T any](failed []T, why func(T) error) [][]T {
	var groups [][]T
	at := map[string]int{}
	for _, a := range failed {
		why := strings.Join(format.Explain(why(a)), "\n")
		i, known := at[why]
		if !known {
			i, at[why] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], a)
	}
	return groups
}

// commonFault returns the error for n objects with the same reason, in the error's own form for
// several objects if there is one.
func commonFault(err error, n int) error {
	if common, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](err); ok {
		return common.Of(n)
	}
	return err
}

// skipped reports objects that were skipped or kept: one by one, or many with the same reason by
// their number. Both lines end with the reason.
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
