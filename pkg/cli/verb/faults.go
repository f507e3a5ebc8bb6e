package verb

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// manyFaults is the number of lines in which the same fault of many objects is reported.
const manyFaults = 4

// named replaces faults of the input that differ only in the object: it keeps the first of them,
// and counts the others. Their order is otherwise unchanged.
func named(all []error) []error {
	number := 0
	groups := format.Grouped(all, func(err error) string {
		if fault, ok := errors.AsType[*object.FaultError](err); ok && fault.Subject != "" {
			return anyObject(fault)
		}
		number++ // Other errors are never the same.
		return strconv.Itoa(number)
	})
	var out []error
	for _, group := range groups {
		if len(group) <= manyFaults {
			out = append(out, group...)
			continue
		}
		out = append(out, group[:manyFaults-1]...)
		out = append(out, &object.HintedError{
			Err:    fmt.Errorf("%s with the same fault (-v 1 names each)", text.Count(len(group)-manyFaults+1, "more object")),
			Advice: object.HintOf(group[0]),
		})
	}
	return out
}

// anyObject returns the text of a fault without the name and the namespace of its object.
func anyObject(fault *object.FaultError) string {
	message := fault.Text + fault.Detail + "\n" + fault.Advice
	for _, part := range strings.FieldsFunc(fault.Subject, func(r rune) bool { return r == ' ' || r == '/' }) {
		message = strings.ReplaceAll(message, strconv.Quote(part), strconv.Quote(""))
	}
	return message
}
