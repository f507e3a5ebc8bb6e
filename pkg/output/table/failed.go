package table

import (
	"errors"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
)

// sameFault groups objects that failed for the same reason, in the order of the first of
// each.
func sameFault[T any](failed []T, why func(T) error) [][]T {
	var groups [][]T
	at := map[string]int{}
	for _, a := range failed {
		why := strings.Join(phrase.Explain(why(a)), "\n")
		i, known := at[why]
		if !known {
			i, at[why] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], a)
	}
	return groups
}

// commonFault returns the error for n objects that failed for the same reason. It uses the
// error's own form for several objects, if there is one.
func commonFault(err error, n int) error {
	if common, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](err); ok {
		return common.Of(n)
	}
	return err
}
