package verb

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// CauseFlag is --fail-on-cause: which causes end a wait before its time is over.
type CauseFlag struct {
	// Codes are all causes that there are, and Lasting says how long each has to last, and
	// whether it is one of those that do not pass by themselves.
	Codes   []string
	Lasting func(code string) (after time.Duration, ends bool)

	codes []string
}

const (
	causeFlag = "fail-on-cause"
	// usualCauses stands for the causes that do not pass by themselves.
	usualCauses = "usual"
)

// Add adds the flag to a command's; otherwise describes its default.
func (f *CauseFlag) Add(cmd *cobra.Command, otherwise string) {
	cmd.Flags().StringSliceVar(&f.codes, causeFlag, nil,
		"CODE of a cause that ends the wait as failed once it has lasted; without a value, those that do not pass on their own. "+otherwise)
	cmd.Flags().Lookup(causeFlag).NoOptDefVal = usualCauses
	help.Words(cmd, causeFlag, f.Codes...)
}

// EndsFor returns what says how long a cause has to last before it ends the wait, 0 for one
// that does not; nil if none does. unattended is set if no user can end a wait by hand.
func (f *CauseFlag) EndsFor(given func(string) bool, unattended bool) (func(event.Cause) time.Duration, error) {
	codes := slices.DeleteFunc(slices.Clone(f.codes), func(code string) bool { return code == "" })
	if unattended && !given(causeFlag) {
		codes = []string{usualCauses}
	}
	var faults []error
	for _, code := range codes {
		if code != usualCauses && !slices.Contains(f.Codes, code) {
			faults = append(faults, noCode(code, f.Codes))
		}
	}
	if len(codes) == 0 || len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return func(c event.Cause) time.Duration {
		after, ends := f.Lasting(c.Code)
		if slices.Contains(codes, c.Code) || ends && slices.Contains(codes, usualCauses) {
			return after
		}
		return 0
	}, nil
}

func noCode(code string, codes []string) error {
	err := fmt.Errorf("--%s: there is no cause %q", causeFlag, code)
	if near := text.Nearest(code, codes); near != "" {
		return &object.HintedError{Err: err, Advice: "did you mean " + near + "?"}
	}
	return err
}
