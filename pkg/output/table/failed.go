package table

import (
	"errors"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
)

// sameFault groups objects that failed for the same reason, in the order of the first of
// each.
func sameFault(failed []event.Applied) [][]event.Applied {
	var groups [][]event.Applied
	at := map[string]int{}
	for _, a := range failed {
		why := strings.Join(phrase.Explain(a.Err), "\n")
		i, known := at[why]
		if !known {
			i, at[why] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], a)
	}
	return groups
}

// commonFault returns the error for objects that failed for the same reason. It uses the
// error's own form for several objects, if there is one.
func commonFault(group []event.Applied) error {
	err := group[0].Err
	if common, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](err); ok {
		return common.Of(len(group))
	}
	return err
}
