package verb

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// OutputFlag is -o of the verbs whose results a printer prints. more ends its usage.
func OutputFlag(cmd *cobra.Command, format *string, more ...string) {
	formats := []string{output.Table, output.JSON, output.YAML, output.KYAML, output.Name, output.Stream, output.JUnit}
	last := len(formats) - 1
	cmd.Flags().StringVarP(format, "output", "o", output.Table,
		"Form of the results: "+strings.Join(formats[:last], ", ")+" or "+formats[last]+strings.Join(more, ""))
	help.Words(cmd, "output", formats...)
}

// Unmet reports whether an engine ended because a condition was not met.
func Unmet(ran error) bool {
	var unmet *wait.UnmetError
	return errors.As(ran, &unmet)
}

// IsResult reports whether a run that ended so did what it could with each object: events have
// reported what that was.
func IsResult(ran error) bool {
	end := Finish(ran, nil)
	return errors.Is(end, ErrNo) || errors.Is(end, ErrUnknown)
}

// Looked reports whether an apply or a diff that ended so looked at all its objects as they are.
func Looked(ran error) bool {
	if incomplete, ok := errors.AsType[*apply.IncompleteError](ran); ok {
		return incomplete.Rejected+incomplete.Unknown == 0
	}
	return ran == nil || errors.Is(ran, diff.ErrDiffers)
}

// Finish turns the errors of an engine and of its printer into the verb's result.
func Finish(ran, closed error) error {
	var incomplete *apply.IncompleteError
	var unknown *diff.UnknownError
	var remaining *deletion.IncompleteError
	var unmet *wait.UnmetError
	switch {
	case closed != nil && !Unread(closed):
		return closed
	case errors.As(ran, &incomplete) && incomplete.Unknown > 0, errors.As(ran, &unknown):
		return ErrUnknown
	case errors.As(ran, &remaining) && remaining.Unknown > 0:
		return ErrUnknown
	case errors.As(ran, &unmet) && unmet.Unknown > 0:
		return ErrUnknown
	case errors.As(ran, &incomplete), errors.Is(ran, diff.ErrDiffers), remaining != nil, unmet != nil:
		return ErrNo
	default:
		return ran
	}
}
